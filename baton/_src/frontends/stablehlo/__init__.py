"""StableHLO (what `jax.jit(f).lower(x).as_text()` prints) to Relax.

text.py         text -> functions of operations
literals.py     types and constants
importer.py     runs operations through their converters
table.py        which converter an operation has; the others hold converters by subject
relax_graph.py  `from_stablehlo`
"""
