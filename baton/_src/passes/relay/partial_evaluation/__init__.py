"""PartialEvaluate: what is known before a program runs is computed then, and what is left is the program.

`partial_evaluate` the pass; `evaluation` of one function; `folded_call` operators on known values; `partial_values`
what is known of values; `residual_types` the types of what is left.
"""
