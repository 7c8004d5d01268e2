"""Indices as fused and split iterators: maps of loops that lose nothing, and their inverses.

`iter_affine_map` detects them, as sums of `iter_nodes`, with `iter_rewrite`; `iter_map` inverts maps, of open sizes
too.
"""
