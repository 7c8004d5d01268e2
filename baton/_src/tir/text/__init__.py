"""TIR as TVMScript (style of v0.19).

`printer` writes it, with `statements`, `heads`, `names`, `expressions`, `buffers` and `blocks`. `parser` reads it back
from a Python syntax tree, with `scope`, `words`, `operations`, `python_parts`, `read_expressions`, `read_statements`
(in a `statement_sequence`), `read_assignments`, `read_scoped_words`, `read_blocks` and `read_buffers`; `threads` are
axes, `slips` Python that kernels lack.
"""
