"""From one form to the next: Relay to Relax, control flow to kernels, kernels to faster ones, Relax to executables."""
