"""The networks of `tvm.relay.testing`, written from their papers: one architecture per file, with random parameters."""
