"""TIR, the kernel language: scalar expressions, statements with blocks, buffers, PrimFunc; arithmetic, text, schedules.

`expr/`, `stmt`, `buffer`, `prim_func`: nodes, what their operands have to be (`operand_rules`) and what blocks may say
(`block_annotations`); `operators/`: what `a + b` builds; `builders/`: functions under TVM's names; `intrinsics`: exp,
sqrt and so on. `evaluation/` the oracle, on `scalar_values`, `integer_power`, `intrinsic_meanings`, `kept_pair`;
`folding` of literals, `dtype_limits`, `effects` of expressions. `analysis/` what a kernel accesses, and whether it is
well-formed; `arith/` canonical form, bounds, proofs; `text/` script (`script_names`: `T` for Python); `schedule/`
primitives. `index_map` layouts (`index_map_from_text`), `index_dtype` other integers, `thread_axes`; `packed_calls` of
functions by name; `kernel_abi` and `kernel_digest` for callers and caches.
"""
