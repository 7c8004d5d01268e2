"""Passes over Relax programs in normal form, one a file, in folders by what they change.

Here lies what passes are written with (`binding_rewriter`, `rewrite_patterns`, `user_passes`) and `gradient`; the order
in which a build runs them is `passes/pipelines.py`.
"""
