"""`tvm.build`: compiles single kernels, and makes them callable from Python."""
