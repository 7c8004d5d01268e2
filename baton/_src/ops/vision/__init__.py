"""Operators of detection networks: regions, anchors."""
