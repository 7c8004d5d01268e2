"""Analyses of Relax programs; nothing here changes a program.

`variables` free, bound, all; `bindings` definitions and uses; `purity` effects; `call_graph` who calls whom, recursion;
`liveness` last uses; `exposure` tensors visible elsewhere; `compile_time` what depends on weights alone; `memory_usage`
what functions allocate; `layout_transforms` which layouts a kernel's operands would take.
"""
