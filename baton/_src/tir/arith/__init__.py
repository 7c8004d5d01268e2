"""Integer arithmetic of shapes and indices: canonical form, bounds, proofs.

`analyzer` is the way in. `polynomial` sums of products; `atoms` what they are made of; `facts` what is known of
variables; `bounds`, `modular`, `proofs` what follows; `division`, `extrema`, `conditions` the rules of one operator
family each; `canonical` takes expressions apart; `int_set` regions; `iter_map` fused and split loop indices.
"""
