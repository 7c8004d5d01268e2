"""Everything an executable needs to run, independent of the IR and the compiler.

`executable` is the format; `vm` runs its bytecode, `native` its machine code, on the threads of `thread_pool`; `graph`
is TVM's graph executor over both. The files next to the folders hold what they share: signatures of values
(`value_info`, `value_checks`, `dim_expr`), the linker, tensor files, timing.
"""
