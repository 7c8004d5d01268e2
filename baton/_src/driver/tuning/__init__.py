"""Autotuning: `tune` is the entry point, `kernels` finds the kernels to tune, `search` is the search for one kernel.

A `task` is measured by a `trial`, in a `worker` process of one of the `measurers`. What was found is kept by
`driver/tuning_records`.
"""
