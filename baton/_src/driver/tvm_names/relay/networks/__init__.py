"""The networks of `tvm.relay.testing`, written from their papers: an architecture a file, random parameters."""
