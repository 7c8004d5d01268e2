"""Passes over kernels. `lowering/` makes plain loops of scheduled kernels, in every build; the passes in this folder
are those that scripts run by name (`tvm.tir.transform`), on `prim_func_pass` as their base.

Not passes: `access_scope` (what holds at an access), `vector_order` (what a vector may carry), `storage_alignment`
(rows as blocks request them), `pass_options`.
"""
