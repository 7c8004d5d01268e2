"""Operators that make elements or move them, and compute nothing with them: full, reshape, concatenate, slice, ..."""
