"""Relax's special operators by subject; `relax/special_ops.py` is the table of all of them."""
