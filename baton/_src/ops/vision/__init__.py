"""Operators of detection networks: anchors, regions, proposals, and which of overlapping boxes stay."""
