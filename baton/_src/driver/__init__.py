"""The top layer, which may import all others: build, compile, executors, and the binding of layers (`wiring`).

`compile` turns a model in any accepted form into a `model`, which loads without the compiler; `relax`, `relay` and
`tir` build programs of these languages, all through `relax`; `frontends` has the entry points for other frameworks.
`training` and `tuning` build on these, and compilation looks up tuning results in `tuning_records`; `tvm_names` and
`tvm_json` serve TVM's scripts and files.
"""
