"""Integer arithmetic of shapes and indices: canonical form, bounds, proofs.

`analyzer` is the entry point. `polynomial` sums of products; `atoms` their elements; `facts` known properties of
variables; `bounds`, `modular`, `proofs` their consequences; `division`, `extrema`, `conditions` the rules of one
operator family each; `canonical` converts expressions, with `comparisons`, `calls` and what is `opaque`; `int_set`
regions; `iterators/` fused and split loop indices; `systems/` linear equations and inequalities.
"""
