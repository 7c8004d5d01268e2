"""Converters of what layers of neural networks are made of: convolutions and norms, pools, attention, recurrences."""
