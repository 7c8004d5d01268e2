"""How kernels are computed: tiling, vectorisation, threads. `schedule` is the entrance, and lists the rules in order.

Rules by subject: `convolution`, `products` (matrices), `dot_products` (int8, bfloat16), `attention`, `recurrence` (with
`recurrence_parts`), `transpose` (with `movements`); `rows` always applies; `given_loops` is for kernels whose loops a
script chose. `shared` has the tools of all rules: a kernel as stages, loop-nest builders. `choices` is what tuning may
decide, `overwriting` what may be computed in place, `surroundings` the stages around a rule's main stage. Which
algorithm is used for which shapes, and why: `docs/design/kernel-algorithms.md`.
"""
