"""Resampling of images, and their dilation."""
