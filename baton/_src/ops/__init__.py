"""The operators: one op in one place. `catalogue.py` lists them; `builders.py` makes each language's functions from
them.
"""
