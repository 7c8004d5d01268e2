"""`tvm.build`: compile single kernels, and make them callable from Python."""
