"""Tensor expressions: `placeholder`, `compute`, reductions, hand-written TIR, and `create_prim_func` to TIR."""
