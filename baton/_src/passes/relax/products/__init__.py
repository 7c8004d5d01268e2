"""Rewrites that make matrix products and convolutions cheaper without changing their values."""
