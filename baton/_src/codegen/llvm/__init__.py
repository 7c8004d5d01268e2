"""Textual LLVM IR from lowered PrimFuncs, and object code from the text.

`module` is the entry point (`compile_module`); `kernel` one PrimFunc; `stmt`, `expr`, `operands`, `arithmetic`,
`vectors`, `intrinsics` its parts; `parallel` outlined loops; `strided` and `padded` loads and stores; `bounds` checks,
`fault` what a failed one does; `narrow_float`, `small_float`, `dot_products` what not every CPU supports; `vector_math`
exp, tanh, ... as polynomials (`trigonometry`: sin, cos, ...), written with `lanes`; `types`, `text` spelling; `jit`
LLVM itself, `single_lanes` what it gets wrong; `workers` compiling in forked processes; `cache` compiled objects on
disk.
"""
