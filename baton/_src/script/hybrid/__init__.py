"""`te.hybrid`: computations written as Python loops over tensors, which run on NumPy arrays or become TIR."""
