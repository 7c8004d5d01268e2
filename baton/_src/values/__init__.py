"""Run-time values, independent of the IR, and what they are made from.

Values: `tensor`, `shape`, `prim`, `adt`, `closure`, `packed_func`; `dtype`, `device`. From and to Python and others:
`convert`, `dlpack`, `ffi` (apache-tvm-ffi), `tvm_format`, `reference_values`. Memory: `aligned`, `filled_tensor`,
`own_tensors`, `transposed`. What numbers stand for: `meaning`, `string_table`, `text_patterns`, `whole_numbers`.
"""
