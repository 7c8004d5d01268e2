"""Relay's type system: `infer_type` is the entry point, `expression_walk` the traversal (functions in `module_order`).

Rules: `expression_rules`, `operator_rule`, `binding_rules`; `kinds` of written types, `exhaustiveness` of matches. The
`solver` has a unifier (`unify`, over types as terms, `substitute`), the `relations` that operators impose, and a
`prover` of dims; `dim_instances` instantiates dims of functions. Results: `elaboration`, `shared_nodes`. Messages:
`show`, `call_site`.
"""
