"""TIR, the kernel language: scalar expressions, statements with blocks, buffers, PrimFunc; arithmetic, text, schedules.

`expr/`, `stmt`, `buffer`, `prim_func`: nodes; `operators/`: what `a + b` builds; `builders/`: functions under TVM's
names; `intrinsics`: exp, sqrt and so on; `evaluation/` the oracle; `analysis/` what a kernel accesses, and whether it
is well-formed; `arith/` canonical form, bounds, proofs; `text/` script; `schedule/` primitives.
"""
