"""Automatic differentiation, and the simplification of its results."""
