"""Reading and writing by position: take, gather, scatter, sort, search, scans."""
