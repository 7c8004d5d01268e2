"""Tensor expressions, and their way to TIR.

`tensor` the nodes (`shown` in errors); `computation` placeholder, compute, extern; `reduction` sum, max, comm_reducer;
`scan` recurrences; `arithmetic` `A + B`; `tag` names of computations; `extern_primfunc` kernels among them. `prim_func`
create_prim_func, with `blocks`, `extern_buffers` and `index_dtype`; `gradient` derivatives by `pullback`, with
`derivative` and `index_equations`. `schedule` TVM's te schedules of `stage`s (`stage_facts`, `group`, `auto_inline`,
`tensor_intrin`), applied by `apply_schedule`, `tensorized`.
"""
