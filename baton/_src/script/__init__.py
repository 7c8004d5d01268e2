"""The Python-syntax entrance to Relax and TIR (TVMScript): decorators, and `from_source` on text, which runs no Python.

`decorators` and `entrance` start; `read_source` makes syntax trees with spans; `environment` says what names mean;
`evaluate` gives expressions values; `functions`, `statements`, `assignments`, `modules` build the program; `infos` are
annotations.
"""
