"""Lowering: Relay to Relax, control flow to kernels, kernels to scheduled kernels, Relax to executables."""
