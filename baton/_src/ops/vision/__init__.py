"""Operators of detection networks: anchors, regions, proposals, and which of overlapping boxes stay.

Shared: `box_overlap` and `best_in_turn` by what chooses among boxes, `regions` by `roi_align` and `roi_pool`.
"""
