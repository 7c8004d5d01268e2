"""Functions with branches, loops and calls as one kernel that calls the others: `native_control_flow` decides which.

A function is read as `steps` (`read_steps`, with `read_values` and `read_sizes`), its tensors get `places` and the
kernel its `parameters`, and `write_kernel` writes it; `function_calls` are calls of what is a kernel by now. Loops that
collect rows: `collecting`, `known_lengths`, `collector_calls`, `write_chunk`. Loops whose iterations change sizes:
`stretches`, `write_stretch`.
"""
