"""Reading and writing by position: take, gather, scatter, sort, search, scans; one file an operator or a family.

Shared: `merge_sort` and `best_first` order elements (as integers, `ranks`, of a `ranked_row`, in `sorted_items`,
`few_in_order` or a `heap`), `places` finds those that are not zero.
"""
