"""Machine code from TIR. `llvm/` is the one back end."""
