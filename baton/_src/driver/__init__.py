"""The only place that sees everything: build, compile, executors, and what binds the layers together (`wiring`).

`compile` makes a `model` of whatever a user calls one, `load` in `model` needs no compiler; `relax`, `relay` and `tir`
build programs of these languages, all by way of `relax`; `frontends` is what other frameworks call. `training`
and `tuning` stand on these, and compilation asks `tuning_records` for what tuning found; `tvm_names` and `tvm_json` are
what TVM's scripts and files need besides.
"""
