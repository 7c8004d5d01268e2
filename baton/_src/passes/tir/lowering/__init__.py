"""From a scheduled kernel to plain loops over flat memory: `lower_prim_func` lists the steps, one in a file."""
