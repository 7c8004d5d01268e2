"""`tvm.build`: kernels by themselves, and how they are called from outside."""
