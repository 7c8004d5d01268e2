"""The built-in functions of the virtual machine by subject: one table per file, all of them listed in `table`; `scope`
is what they see of the machine.

Running: `checks`, `shapes`, `memory`, `structures`, `functions`, `relay` matches, `data_dependent` operators, `growing`
tensors, `strings`. Linear algebra: `matrices`, `complex_matrices`, `reflectors`, `symmetric_factors`. Language models:
`paged_cache` (calls: `paged_cache_calls`; `page_pool`, `token_trees`, `rotary`), `caches`, `named_params`, `sampling`.
Packed functions of TVM's libraries: `matrix_products`, `random_numbers`, `sorting`, `threads`.
"""
