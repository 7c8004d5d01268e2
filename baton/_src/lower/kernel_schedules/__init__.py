"""How kernels are computed: tiling, vectors, threads. `schedule` is the entrance, and lists the rules in order.

`stages` the shape of a kernel as the rules see it; `inline` what is computed where it is used; `rows` the rule that
always applies; `vector_reduce` reductions in vectors; `matmul`, `conv2d` register tiles; `tiles` what both share.
"""
