"""Machine code: loading it (`object_bundle`, `library`), and calling its entries and kernels.

A `native_plan` says what an entry needs; `native_function` calls it on tensors, `array_call` on NumPy arrays by one
foreign call (`addresses`), `step_by_step` kernel by kernel for profilers. `kernel_function` calls one kernel. Outputs:
`output_memory`, `counted_outputs`; `negative_sizes` of tensors between. What goes wrong inside: `faults`, `interrupts`.
Calls back to Python: `packed_calls`, on `packed_tensors`.
"""
