"""Indices as fused and split iterators: maps of loops that lose nothing, and their inverses."""
