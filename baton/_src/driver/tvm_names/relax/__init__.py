"""What `tvm.relax` has beyond a re-export."""
