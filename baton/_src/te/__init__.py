"""Tensor expressions, and their way to TIR.

`tensor` the nodes; `computation` placeholder, compute, extern; `reduction` sum, max, comm_reducer; `scan` recurrences;
`arithmetic` `A + B`; `prim_func` create_prim_func, with `blocks`; `schedule` TVM's te schedules of `stage`s, applied by
`apply_schedule`; `gradient` derivatives by `pullback`, with `derivative` and `index_equations`.
"""
