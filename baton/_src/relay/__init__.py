"""Relay: `nodes/`, type inference in `check/`, the Prelude, `text/` (lexer, parser, printer), and the oracle:
`interpreter` with `running_values`, `reference_calls`, `memory_calls`, `stopping`.

Looking at programs: `expressions`, `walks`, `scopes`, `analysis`; `expr_functor` and `type_functor` for users.
Patterns: `patterns`, `pattern_match`, `pattern_rewrite`. Building: `scope_builder`. Operators: `info` for their shape
rules, `op_columns` of TVM's registry.
"""
