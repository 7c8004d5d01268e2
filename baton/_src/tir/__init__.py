"""TIR, the kernel language: scalar expressions, statements with blocks, buffers, PrimFunc; arithmetic, text, schedules.

`expr/`, `stmt`, `buffer`, `prim_func`: nodes; `operators/`: what `a + b` builds; `intrinsics`: exp, sqrt and so on;
`check` well-formedness; `interpreter` (`evaluate_statements`, `evaluate`) the oracle; `arith/` canonical form, bounds,
proofs; `text/` script; `schedule/` primitives.
"""
