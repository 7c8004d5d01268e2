"""Converters of operators that know no neural networks: arithmetic, shapes, indices, reductions, random numbers."""
