"""Operators as others, as constants, as kernels, or in another precision."""
