"""Tensor expressions: `placeholder`, `compute`, reductions, scans by hand-written TIR, and `create_prim_func` to TIR."""
