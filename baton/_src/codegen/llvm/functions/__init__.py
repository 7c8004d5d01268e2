"""What calls of intrinsics and conversions of types come to in LLVM IR: `intrinsics` is the table.

`vector_math` has exp, tanh, ... as polynomials (`trigonometry`: sin, cos, ...), written with `lanes`; `narrow_float`,
`small_float`, `dot_products` what not every CPU supports; `c_library` what is left to C.
"""
