"""Autotuning: `tune` is the entry point, `kernels` finds the kernels to tune, `search` is the search for one kernel.

A `task` is measured by a `trial`, in a `worker` process (a `child`) of one of the `measurers`. Single variants that
TVM's tuners ask for are `runs`, answered there by `answer_run`. What was found is kept by `driver/tuning_records`.
"""
