"""From one form to the next: Relay to Relax, operators to kernels, kernels to schedules, Relax to executables."""
