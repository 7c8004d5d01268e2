"""Laws of random kernels: compiled, scheduled, lowered and printed, they do what the interpreter does."""
