"""Automatic differentiation, and simplifying what it leaves behind."""
