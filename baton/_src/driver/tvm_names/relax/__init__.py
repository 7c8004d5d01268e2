"""The parts of `tvm.relax` that are more than a re-export."""
