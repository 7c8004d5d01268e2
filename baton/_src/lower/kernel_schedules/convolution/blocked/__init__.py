"""Convolutions over blocked channels (NCHW16c), in register tiles (`conv_blocked`)."""
