"""Operators in another layout, with transforms only where layouts meet."""
