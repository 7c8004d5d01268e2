"""The dataflow pattern language over Relax (`tvm.relax.dpl`): patterns and matching.

`nodes` patterns; `builders` the functions that make them; `match` one expression; `context` edges between patterns;
`match_block` a whole dataflow block. Rewriting of matches is a pass: `passes/relax/pattern_matching_rewriter`.
"""
