"""Everything an executable needs to run, independent of the IR and the compiler.

`executable` is the format; `vm` runs its bytecode, `native` its machine code, on the threads of `thread_pool`; `graph`
is TVM's graph executor over both. The files next to the folders hold what they share: signatures of values
(`value_info`, `filled_info`, `value_checks`, `function_checks`, `value_errors`, `dim_expr`, `tensor_sizes`), the
`linker` and the `processor` it links for, files of tensors (`safetensors_file`, `param_dict`, `param_shards`), `timing`
(`between_repetitions`), and what TVM's modules offer (`module_face`).
"""
