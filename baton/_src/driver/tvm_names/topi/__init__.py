"""`tvm.topi`: operators' computations as functions of `te` tensors."""
