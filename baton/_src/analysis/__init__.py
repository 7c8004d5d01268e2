"""Questions about Relax programs; nothing here changes one.

`variables` free, bound, all; `bindings` what is bound to what, who uses what; `purity` effects; `call_graph` who calls
whom, recursion; `liveness` last uses; `compile_time` what only depends on weights;
`layout_transforms` which layouts a kernel's operands would take.
"""
