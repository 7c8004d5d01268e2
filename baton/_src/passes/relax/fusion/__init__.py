"""Fusion by operator class or by pattern, kernels of fused functions, external compilers."""
