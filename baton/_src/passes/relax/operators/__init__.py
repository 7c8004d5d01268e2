"""Operators replaced by other operators, by constants, by kernels, or computed in another precision."""
