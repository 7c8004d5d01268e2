"""Passes over Relax programs in normal form, one a file, in folders by what they change.

This folder itself holds the tools for writing passes (`binding_rewriter`, and on it `module_rewriter`, `call_pass` and
`lasting_values`; `rewrite_patterns`, `user_passes`) and `gradient`; the order in which a build runs the passes is in
`passes/pipelines.py`.
"""
