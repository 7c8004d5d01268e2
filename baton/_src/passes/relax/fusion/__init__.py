"""Fusion by operator class or by pattern, kernels of fused functions, external compilers.

By class: `fuse_ops`, then `fuse_tir`, with `inline_scalar_arguments` between them, and `name_sizes` of the kernels. By
pattern: `fuse_ops_by_pattern`, `merge_composite_functions`, `run_codegen`, over the `pattern_registry`. Attention:
`fuse_attention`. `group_outliner` makes functions of groups for all.
"""
