"""TIR, the kernel language: scalar expressions, statements with blocks, buffers, PrimFunc; arithmetic, text, schedules.

`expr/`, `buffer`, `stmt`, `prim_func` nodes; `operators/` what `a + b` builds; `intrinsics` the table of exp, sqrt, ...;
`check` well-formedness; `interpreter` (`evaluate_statements`, `evaluate`) the oracle; `arith/` canonical form, bounds,
proofs; `text/` script; `schedule/` primitives.
"""
