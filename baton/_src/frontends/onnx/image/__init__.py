"""Converters of image and bounding box operators."""
