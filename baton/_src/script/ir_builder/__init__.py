"""Programs built by `with` statements: `tvm.script.ir_builder`."""
