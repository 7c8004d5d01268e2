"""The parts of `tvm.relax` that are more than a re-export.

Building programs: `expressions`, `layers`, `patterns`. Checking and looking: `checks`, `well_formed_instrument`,
`ast_printer`, `lib_comparator`, `testing`, `operator_columns` of TVM's registry. Compiling: `pipelines`,
`cpu_pipeline`, `extern_modules`.
"""
