"""The meaning of kernels: expressions and statements as Python functions, and the interpreter made of them."""
