"""Tables of what is left out of TVM, and why: a file for each of its large packages. `absent` reads them."""
