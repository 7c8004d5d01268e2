"""The dataflow pattern language over Relax (`tvm.relax.dpl`): what patterns say, what matches, and rewriting.

`nodes` patterns; `builders` the functions that make them; `match` one expression; `context` edges between patterns;
`match_block` a whole dataflow block. Rewriting what matches is a pass: `passes/relax`, `pattern_matching_rewriter`.
"""
