"""`tvm.auto_scheduler`: for computations without schedules, search the space of the rules' tunable choices.

A `task` is a computation (`compute_dag`) by its name in the `workload_registry`, or a kernel of a Relay program
(`programs`). `search` tunes one, `scheduler` several, as `options` and `policies` say, and tells `callbacks`; `records`
are the logs. `words` are small helpers of scripts.
"""
