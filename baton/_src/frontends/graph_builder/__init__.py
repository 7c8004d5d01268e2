"""The builder with which importers write programs, for either language.

`graph` is the builder; `value` represents the values between a model's nodes, `operands` the operands of calls;
`folding` evaluates calls on constants, `inference` their types; `agreeing_sizes` checks sizes in each run. `language`
is the interface to the languages, implemented by `relax_graph` and `relay_graph` (with `relax_rewrites`,
`relay_rewrites`, `relay_dims`). `indices`, `moments`, `angles`, `near_zero`, `fourier` and `suppression` write what
several importers have and no one operator is.
"""
