"""Integer arithmetic of shapes and indices: canonical form, bounds, proofs.

`analyzer` is the entry point, `answers` its results. `polynomial` sums of products; `atoms` their elements; `facts`
known properties of variables, and `assumptions` what a condition adds; `bounds`, `modular`, `proofs` their
consequences; `division`, `extrema`, `conditions`, `joins`, `wrapping` the rules of one operator family each;
`canonical` converts expressions, with `comparisons`, `calls`, `vectors` and what is `opaque`; `int_set` and
`region_bounds` regions; `common_subexpressions`; `iterators/` fused and split loop indices; `systems/` linear equations
and inequalities.
"""
