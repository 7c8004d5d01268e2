"""Tensor layouts: of operators, of kernels' operands, and chains of convolutions with blocked channels."""
