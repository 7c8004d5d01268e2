"""`Schedule`: change how a PrimFunc is computed without changing what.

`schedule` the class, whose methods are in `primitives/`; `module_functions` which function they work on, `handles` what
they are given; `state` and `srefs` the program as scripts see it; `tree` finding and replacing, `views` of blocks;
`transformations/` what the methods do, one kind of change a file; `conditions/` when that is right; `traces/` what was
done, to be shown and done again; `rules` leaves a kernel to the compiler's own.
"""
