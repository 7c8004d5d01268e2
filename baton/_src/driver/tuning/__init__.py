"""Autotuning: `tune` is the entrance, `kernels` what there is to tune, `search` the search for one kernel.

A `task` is measured by a `trial`, in a `worker` process of one of the `measurers`. What was found is kept by
`driver/tuning_records`.
"""
