"""Converters of operators on images and on boxes in them."""
