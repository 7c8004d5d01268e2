"""Tables of TVM's names that are left out, and why: a file for each of its large packages. `absent` reads them."""
