"""What a program computes with, free of IR: dtype, device, tensor, shape, prim value, ADT, closure, packed function."""
