"""The virtual machine: its API (`virtual_machine`), the bytecode interpreter (`engine`), and its `builtins`."""
