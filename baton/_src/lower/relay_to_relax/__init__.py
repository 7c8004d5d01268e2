"""Typed Relay to Relax; `module` is the entry point.

`scope_lowering` walks the scopes of one function, `calls` and `match_lowering` lower calls and matches; all of them
emit through `binding_emitter`. `types` converts types to StructInfo. `operators_by_sizes` lowers what is sized by
numbers that tensors hold (`run_time_sizes`), which may be known from the sizes of others (`shape_values`).
"""
