"""The parts of `tvm.contrib` that are small Python tools."""
