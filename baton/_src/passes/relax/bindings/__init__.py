"""The shape of a program: bindings, dataflow blocks and functions canonical, shared, inlined, lifted or removed."""
