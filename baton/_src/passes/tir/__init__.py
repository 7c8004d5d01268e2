"""Passes over kernels: `lowering/` makes plain loops of scheduled kernels; the others are run by scripts, by name."""
