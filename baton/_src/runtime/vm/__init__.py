"""The virtual machine: its API (`virtual_machine`, as TVM's module: `machine_module`), the bytecode interpreter
(`engine`) over prepared `machine_code`, `closure_info`, the `builtins`, and `packed_functions` by name.
"""
