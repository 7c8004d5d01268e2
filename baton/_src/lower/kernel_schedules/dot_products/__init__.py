"""Products of narrow numbers through the processor's dot instructions, of matrices and convolutions."""
