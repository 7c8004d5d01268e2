"""The parts of `tvm.relay` that are more than a re-export."""
