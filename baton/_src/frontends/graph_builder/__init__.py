"""What importers write programs with, whichever language they are for.

`graph` is the builder; `value` is what flows between a model's nodes, `operands` what a call may be given; `folding`
computes calls on constants; `language` says what differs between the languages, `relax_graph` and `relay_graph` are
the two answers (`relay_dims`, `relay_rewrites`: what Relay needs besides).
"""
