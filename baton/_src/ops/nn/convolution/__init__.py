"""Convolutions, and their gradients.

Operators: `convolution`, `transpose`, `deformable`, `sparse`, `winograd`, `bitserial`, `weight_gradient`. Shared:
`geometry`, `reference` over NumPy, `gradient`. Other ways to compute them: `depth_multiplier`, `transpose_few_points`,
`weight_gradient_planes`, `weight_gradient_products`.
"""
