"""Transposed convolutions, phase by phase of their stride (`conv_phases`)."""
