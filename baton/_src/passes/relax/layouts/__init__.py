"""How tensors lie: layouts of operators, of kernels' operands, and chains that keep channels in blocks."""
