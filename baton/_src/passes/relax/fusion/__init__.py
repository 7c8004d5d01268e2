"""What runs together: fusing by operator class or by pattern, kernels of fused functions, external compilers."""
