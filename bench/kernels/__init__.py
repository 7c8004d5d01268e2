"""How fast scheduled kernels are, in percent of what one core can do."""
