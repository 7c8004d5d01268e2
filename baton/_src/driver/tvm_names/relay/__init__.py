"""What `tvm.relay` has beyond a re-export."""
