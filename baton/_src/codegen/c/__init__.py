"""Lowered PrimFuncs to C99: `module` writes a file of kernels, from what `function`, `stmt` and `expr` write.

`packed_functions` writes the functions that TVM's runtimes call; `helpers` are the functions that C lacks. Vectors are
loops over their lanes (`lanes`), parallel loops run one iteration after another, and integers wrap around as in LLVM.
"""
