"""Sums, means, extrema and other folds over axes."""
