"""Converters of what repeats, branches, and holds tensors: If, Loop, Scan, sequences, optionals."""
