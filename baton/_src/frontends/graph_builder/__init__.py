"""The builder with which importers write programs, for either language.

`graph` is the builder; `value` represents the values between a model's nodes, `operands` the operands of calls;
`folding` evaluates calls on constants; `language` is the interface to the languages, implemented by `relax_graph` and
`relay_graph` (with `relay_dims`, `relay_rewrites` for Relay).
"""
