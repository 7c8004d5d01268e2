"""What `tvm.tir` has beyond a re-export."""
