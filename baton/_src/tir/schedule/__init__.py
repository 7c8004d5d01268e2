"""`Schedule`: change how a PrimFunc is computed without changing what. `schedule` the class; `tree` finding and
replacing; `loops`, `inline`, `compute_at`, `cache`, `reduction`, `rfactor`, `blockize`, `padding`, `layout`: one kind
of change a file; `sampling` random choices; `trace` what was done, to be done again.
"""
