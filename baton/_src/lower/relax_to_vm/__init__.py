"""Relax with `call_tir` -> native entries, memory plans and bytecode; `lower_module` is the entry point.

A function without control flow becomes one native entry (`whole_native`). Any other goes through `function_lowering`:
`function_values` holds the `abstract_values` of its variables, `operator_calls` emits one operator, `waiting_kernels`
gathers kernel calls into entries, which `native_entry` writes and `program` collects.
"""
