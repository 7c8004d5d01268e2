"""`Schedule`: change how a PrimFunc is computed without changing what. `schedule` the class; `tree` finding and
replacing; `loops`, `inline`, `compute_at`, `cache`, `reduction`: one kind of change a file.
"""
