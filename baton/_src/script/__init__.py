"""TVMScript, the Python syntax for Relax and TIR: decorators, and `from_source`, which reads text without running
Python.

`decorators` and `entrance` are the entry points; `read_source` makes syntax trees with spans; `environment` resolves
names; `evaluate` evaluates expressions; `functions`, `statements`, `assignments`, `modules` build the program; `infos`
are annotations.
"""
