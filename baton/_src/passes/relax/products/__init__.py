"""Rewrites that make matrix products and convolutions cheaper without changing their values.

Shared: `product_rules`, `folded_arithmetic`, `parallel_branches` (of `combine_parallel_matmul`), `byte_factors` (of
`byte_products`).
"""
