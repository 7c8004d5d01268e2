"""Bindings, dataflow blocks and functions: canonicalised, shared, inlined, lifted or removed."""
