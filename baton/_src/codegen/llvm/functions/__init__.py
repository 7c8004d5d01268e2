"""What calls of intrinsics and conversions of types come to in LLVM IR: `intrinsics` is the table, of
`integer_intrinsics` and `real_intrinsics`.

`vector_math` has exp, tanh, ... as polynomials (`trigonometry`: sin, cos, ...), written with `lanes`; `remainder` is
fmod; `narrow_float`, `small_float`, `dot_products` what not every CPU supports; `c_library` what is left to C,
`rare_lanes` lane by lane where a polynomial is not exact.
"""
