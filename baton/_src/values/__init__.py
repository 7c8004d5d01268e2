"""Run-time values, independent of the IR: dtype, device, tensor, shape, prim value, ADT, closure, packed function."""
