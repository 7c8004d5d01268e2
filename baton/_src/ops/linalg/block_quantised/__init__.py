"""A dense layer of weights of 2, 4 or 8 bits in blocks: `dense` is the operator, `weights` how they lie, `exact_kernel`
and `rounded_kernel` what meets them: data as they are, or rounded to bytes in each block (`rounding`).
"""
