"""The kernel of Fourier transforms whose length has small factors only.

`plan` factors the length; `rows` and `columns` are the kernels along the last axis and the one before, by `passes` over
`memory` of their own; `butterflies` are the short transforms in registers, with `roots` of one.
"""
