"""TIR as TVMScript (style of v0.19).

`printer` writes it, with `statements`, `heads`, `names`, `expressions`, `buffers` and `blocks`. `parser` reads it back
from a Python syntax tree, with `scope`, `words`, `read_expressions`, `read_statements`, `read_assignments`,
`read_blocks` and `read_buffers`.
"""
