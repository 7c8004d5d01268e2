"""PartialEvaluate: compute at compile time whatever is known, and leave the rest as the residual program.

`partial_evaluate` is the pass; `evaluation` evaluates one function; `folded_call` operators on known values;
`partial_values` represents what is known about values; `residual_types` the types in the residual program.
"""
