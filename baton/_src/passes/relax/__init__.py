"""Passes over Relax programs in normal form, one a file, in folders by what they change.

This folder itself holds the tools for writing passes (`binding_rewriter`, and on it `module_rewriter`, `call_pass` and
`lasting_values`; `leaves_of_values`; by patterns `rewrite_patterns`, `pattern_matching_rewriter`, `function_rule`;
`user_passes`; `stated_bounds`) and `gradient` (with `checkpoints`, `te_gradients`, `transposed_products`); the order in
which a build runs the passes is in `passes/pipelines.py`.
"""
