"""Textual LLVM IR from lowered PrimFuncs, and object code from the text.

`module` the entrance (`compile_module`); `kernel` one PrimFunc; `stmt`, `expr`, `memory`, `intrinsics` its parts;
`parallel` outlined loops; `narrow_float` float16/bfloat16; `vector_math` exp, tanh, ... as polynomials; `types`,
`text` spelling; `jit` LLVM itself; `workers` compiling in forked processes; `cache` compiled objects on disk.
"""
