"""Textual LLVM IR from lowered PrimFuncs, and object code from the text.

`module` is the entry point (`compile_kernels`); `kernel` one PrimFunc; `stmt`, `expr`, `operands`, `arithmetic`,
`fused_products`, `vectors` its parts, with `float_ranges` for cheap casts, and `imported` for what a kernel brings
along as LLVM IR; `parallel` outlined loops; `packed_calls` calls back to Python; `addressing/` loads and stores,
`bounds` tests before them, and `fault` what a failed one does; `function_writer` what these parts share; `functions/`
intrinsics, and types that not every CPU supports; `types`, `padded` (below a byte), `text` spelling; `jit` LLVM itself;
`workers` compiling in forked processes; `cache` compiled objects on disk.
"""
