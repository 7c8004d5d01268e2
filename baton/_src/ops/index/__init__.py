"""Reading and writing by position: slice, take, gather, scatter, sort, search."""
