"""Building blocks of schedule rules.

A kernel as `stages`, the main one among its `anchors`, others made part of their readers (`inline`); `affine` strides,
`pieces` of axes, `flat_index_digits` and `reshaped` for indices that a reshape left; `factors` of products. Writing:
`loops`, `opaque_loops` (scans, sorts), `line_conditions`, `line_middles`, `prefetch`, `register_shuffles`, values that
are `interleaved`. Reductions in vectors: `vector_reduce`, `chains`, `arg_extrema`, `window_extrema`, `flushed_powers`,
`kept_in_result`.
"""
