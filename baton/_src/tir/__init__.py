"""TIR, the kernel language: scalar expressions, statements with blocks, buffers, PrimFunc; arithmetic, text, schedules.

`expr` nodes; `operators` what `a + b` builds; `intrinsics` the table of exp, sqrt, ...; `buffer`, `stmt`, `prim_func`;
`check` well-formedness; `interpreter` the oracle; `arith/` canonical form, bounds, proofs; `text/` script; `schedule/`.
"""
