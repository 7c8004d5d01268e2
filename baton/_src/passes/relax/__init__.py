"""Passes over Relax programs in normal form, one a file. `binding_rewriter` is what most of them are written with."""
