"""The only place that sees everything: build, compile, executors, and what binds the layers together (`wiring`).

`compile` turns whatever a user calls a model into a `model`, which loads without the compiler; `relax`, `relay` and
`tir` build programs of these languages, all through `relax`; `frontends` is what other frameworks call. `training`
and `tuning` build on these, and compilation looks up in `tuning_records` what tuning found; `tvm_names` and `tvm_json`
are what TVM's scripts and files need besides.
"""
