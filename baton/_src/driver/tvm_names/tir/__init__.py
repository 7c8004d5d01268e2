"""The parts of `tvm.tir` that are more than a re-export."""
