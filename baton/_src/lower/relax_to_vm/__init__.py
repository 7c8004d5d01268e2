"""Relax with `call_tir` -> native entries, memory plans and bytecode; `lower_module` is the entry point.

A function without control flow becomes one native entry (`whole_native`). Any other goes through `function_lowering`:
`function_values` holds the `abstract_values` of its variables, `function_scope` its registers, `operator_calls` emits
one operator, `waiting_kernels` gathers kernel calls into entries, which `native_entry` writes and `program` collects.

Of the calls: `kernel_calls` which can be in an entry, `kernel_arguments` what C they take, `entry_words` and
`entry_sizes` what an entry computes first, `counted_sizes` what only kernels know. Of the memory: `shared_memory` and
`reused_operands` save copies. Of the variables: `variable_uses`, `variable_values`, `cast_conditions`. `dims` and
`infos` translate for the executable.
"""
