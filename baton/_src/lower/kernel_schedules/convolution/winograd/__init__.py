"""Winograd's algorithm for windows of 3 x 3 taps."""
