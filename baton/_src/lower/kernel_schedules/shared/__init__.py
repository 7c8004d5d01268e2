"""Building blocks of schedule rules.

A kernel as `stages`, the main one among its `anchors`, others made part of their readers (`inline`); `affine` strides,
`flat_index_digits` and `reshaped` for indices that a reshape left; `factors` of products. Axes are cut in `pieces`; of
open sizes in `open_pieces`, `open_sides`. Writing: `loops`, `opaque_loops` (scans, sorts), `line_conditions`,
`line_middles`, `prefetch`, `register_shuffles`, values that are `interleaved`. Reductions in vectors: `vector_reduce`,
`chains`, `arg_extrema`, `separate_windows`, `flushed_powers`; stages of rows in `row_blocks`, `kept_in_result`.
"""
