"""Relax: the language, its checks and its text. Passes over Relax programs are in `passes/relax`.

`nodes/` and `struct_info` (its base: `any_struct_info`) the grammar, `types` without shapes; `normalize` normal form,
with `leaves`, `settled`, `shape_scopes`; `check/` StructInfo deduction and relations, `well_formed` the criteria;
`functors` users' visitors; `patterns/` dataflow patterns; `text/` TVMScript; `interpreter` (`interpret/`) the oracle.
`special_ops` (`special_op`, `special/`) are the operators that see StructInfo; `info` is what others see.

Building programs: `block_builder` with `frames`, `fresh_names`, `functions_being_built` and `known_functions`,
`own_variables`; `call_te`, `call_builders`, `special_builders`, `literals`, `tensor_fields`, `known_dims`.
"""
