"""Relax: the language, its checks and its text. Passes over Relax programs are in `passes/relax`.

`nodes/` and `struct_info` the grammar; `normalize` normal form; `check/` StructInfo deduction and relations,
`well_formed` the criteria; `block_builder`, `call_te` and the `*_builders` build programs; `special_ops` (`special/`)
the operators that see StructInfo; `functors` users' visitors; `patterns/` dataflow patterns; `text/` TVMScript;
`interpreter` (`interpret/`) the oracle.
"""
