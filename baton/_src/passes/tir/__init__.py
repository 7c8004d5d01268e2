"""Lower scheduled kernels to plain loops: `lower_prim_func` lists the steps, one per file; other passes are run by
scripts.
"""
