"""TVM's graph executor and its debugger over executables."""
