"""Autotuning: `tune` searches, `trial` measures (in other processes: `measurers`), `database` remembers, `records` is
what compilation asks.
"""
