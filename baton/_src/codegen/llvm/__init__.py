"""Textual LLVM IR from lowered PrimFuncs, and object code from the text.

`module` is the entry point (`compile_module`); `kernel` one PrimFunc; `stmt`, `expr`, `operands`, `arithmetic`,
`vectors` its parts; `parallel` outlined loops; `addressing/` loads and stores, with `bounds` checks, and `fault` what a
failed one does; `functions/` intrinsics, and types that not every CPU supports; `types`, `text` spelling; `jit` LLVM
itself; `workers` compiling in forked processes; `cache` compiled objects on disk.
"""
