"""Matrix products: `matmul` with packing at run time, `prepacked` with weights packed at compile time.

`tiles` and `row_tiles` are the register tiles of both, `panel_packing` packs. For few rows: `few_rows`,
`packed_streams`, `streamed_rows`, `blocked_rows`; for few columns: `last_columns`, `row_dots`; for a small k:
`short_sums`.
"""
