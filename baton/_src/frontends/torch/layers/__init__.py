"""Converters of neural network layers: convolutions and norms, pools, attention, recurrences."""
