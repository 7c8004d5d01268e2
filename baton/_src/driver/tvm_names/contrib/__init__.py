"""The parts of `tvm.contrib` that are small tools of Python."""
