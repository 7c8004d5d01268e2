"""Kernels made ready for code generation: `lower_prim_func` is the page to read; each step is a file."""
