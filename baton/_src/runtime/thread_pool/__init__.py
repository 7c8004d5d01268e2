"""The threads of parallel loops: the pool as Python sees it (`threads`), and the LLVM IR that it runs.

`pool_ir` publishes and claims work, `placement_ir` and `stalled_ir` deal with CPUs that are taken, `workspace_ir` is
kernels' temporary memory, `thread_locals_ir` a thread's own words, `system_ir` the operating system.
"""
