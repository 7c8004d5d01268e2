"""Results of tuning: where they are stored (`place`), the `database`, and lookups by the compiler (`records`), unless a
script has put a database of its own `in_force`. `version` is their part in keys of caches.
"""
