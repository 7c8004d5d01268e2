"""Lowering: `relay_to_relax/`; control flow to kernels, `native_control/`; kernels to scheduled ones,
`kernel_schedules/`; Relax to executables, `relax_to_vm/`.

Passes that choose for the schedules: `pack_weights`, `transform_weights`. `memory_plan` places intermediates in one
arena, with symbolic sizes compared as polynomials (`size_polynomial`).
"""
