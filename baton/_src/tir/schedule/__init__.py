"""`Schedule`: change how a PrimFunc is computed without changing what. `schedule` the class, its primitives by subject
in it and in `*_primitives`, `rules`; `module_functions` which function they work on; `tree` finding and replacing;
`loops`, `inline`, `compute_at`, `cache`, `cached_indices`, `rolling`, `reduction`, `rfactor`, `blockize`,
`blockize_several`, `padding`, `layout`: one kind of change a file; `sampling` random choices; `dot_products` intrinsics
that come with the compiler; `recording` writes down what was done in a `trace`, whose steps are of `instruction_kinds`,
to be shown and done again; `block_scope` what blocks depend on.
"""
