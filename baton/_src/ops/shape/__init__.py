"""Operators that create or move elements without computing with them: full, reshape, concatenate, slice, ...

Shared: `reshape_target` and `slice_bounds` are what attributes come to, `targets` where target shapes are given;
`dynamic_axes` and `dynamic_slicing` are Relay's operators whose attributes are tensors.
"""
