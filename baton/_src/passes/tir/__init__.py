"""From scheduled kernels to plain loops: `lower_prim_func` lists the steps, each a file; others are run by scripts."""
