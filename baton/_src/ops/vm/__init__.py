"""Operators about values at run time: shapes of tensors, sizes."""
