"""Questions about kernels: what they read and write, in which order, and whether they are well-formed."""
