"""What an executable needs to run, free of IR and of the compiler.

`executable` is the format; `vm` runs its bytecode, `native` its machine code, on the threads of `thread_pool`; `graph`
is another face of both. Here lies what all of them speak of: what is demanded of values (`value_info`, `value_checks`,
`dim_expr`), the linker, tensors in files, measurements.
"""
