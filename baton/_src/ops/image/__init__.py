"""Resampling of images, at sizes or at points; their dilation."""
