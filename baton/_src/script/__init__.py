"""TVMScript, the Python syntax for Relax and TIR: decorators, and `from_source`, which reads text without running
Python.

`decorators` (with `options`) and `entrance` are the entry points; `read_source` makes syntax trees with spans, `syntax`
asks about them; `environment` resolves names, of `namespaces`, `markers` among them; `evaluate` evaluates expressions,
with `python_parts`, `scalars` and `attribute_values`; `functions`, `statements`, `assignments`, `modules`, `macros`
build the program; `infos` are annotations. Kernels are read by `tir/text`. `ir_builder/` and `hybrid/` are two more
ways to write programs in Python.
"""
