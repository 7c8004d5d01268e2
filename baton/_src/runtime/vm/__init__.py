"""The virtual machine: its face (`virtual_machine`), what runs bytecode (`engine`), and its `builtins`."""
