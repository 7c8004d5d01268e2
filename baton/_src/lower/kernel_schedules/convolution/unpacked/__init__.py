"""Convolutions that read their input in place (`conv_unpacked`)."""
