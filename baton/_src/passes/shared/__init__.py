"""Code shared by passes of several languages.

`fusion_groups` says which operators become one kernel; `kernel_stages`, `inline_elementwise`, `interpolation`: kernels
as stages, and which of them become part of their readers; `named_sizes` of kernels; `evaluate` and `filled_arrays`:
operators on constants.
"""
