"""Reading and writing by position: take, gather, scatter, sort, search, scans; one file an operator or a family.

Shared: `merge_sort`, `heap` and `best_first` order elements, `places` finds those that are not zero.
"""
