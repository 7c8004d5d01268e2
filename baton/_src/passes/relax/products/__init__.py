"""Rewrites of matrix products and convolutions that make them cheaper and keep their values."""
