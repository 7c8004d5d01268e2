"""Convolutions of few channels and depthwise ones, line by line."""
