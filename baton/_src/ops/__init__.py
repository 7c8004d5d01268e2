"""The operators, each in one place. `catalogue` lists them; `builders` derives each language's functions from them.

Operators are in the folders, by subject. The files are what they are made of: `kernel_words`, `loop_nests`,
`vector_loops`, `any_lane` to write kernels; `dims`, `broadcasting`, `axes`, `windows`, `row_major`, `layout_names` for
shapes and layouts, `operand_checks`, `fill_values`, `layouts` for layout passes; `canonical_axes`, `precision`, `means`
for references; `linear_axes`, `mixed_dtypes` for gradients; `samples`, what their tests are fed with.

How users call them: `call_maker` over `arguments`; `relax_surface`, `relay_surface`, `positional` where a builder is
not simply its operands, then its attributes; `composites`, `tuple_wrapper`; `text_builders` and `syntax` for texts and
Python's operators.
"""
