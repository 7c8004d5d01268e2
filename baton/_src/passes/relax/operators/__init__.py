"""Operators replaced by other operators, by constants, by kernels, or computed in another precision.

To kernels: `legalize_ops`, by `kernel_of_call` and what is `decomposing`. To other operators: `decompose_ops`,
`count_results`, `shape_tensors`, `append_in_place`, `remove_redundant_reshape`, `fast_math`, `dispatch`. Precision:
`to_mixed_precision`, with `mixed_precision_policy`, `narrow_casts`, `narrow_uses`. `fold_constant`; `check_sizes`.
"""
