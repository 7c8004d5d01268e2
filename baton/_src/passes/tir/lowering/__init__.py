"""From a scheduled kernel to plain loops over flat memory: `lower_prim_func` lists the steps, one in a file.

Not steps: `fold` and `widen` rebuild expressions, as literals and as vectors; `loop_ranges`, `inplace_stores` and
`safe_selects` say what holds of a kernel. `loop_steps` are single steps for scripts that run them one by one.
"""
