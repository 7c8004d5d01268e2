"""Machine code: loading it (`library`), and calling its entries and kernels on tensors and NumPy arrays."""
