"""The Python-syntax entrance to Relax and TIR (TVMScript): decorators, and `from_source` on text, which runs no Python.

`decorators` and `entrance` are the entry points; `read_source` makes syntax trees with spans; `environment` resolves
names; `evaluate` evaluates expressions; `functions`, `statements`, `assignments`, `modules` build the program; `infos`
are annotations.
"""
