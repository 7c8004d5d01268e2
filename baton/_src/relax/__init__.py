"""Relax: `nodes`, `struct_info`, deduction and well-formedness in `check/`, BlockBuilder, the reference interpreter, `text/`."""
