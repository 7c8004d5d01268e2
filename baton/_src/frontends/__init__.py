"""Importers of ONNX files and PyTorch programs, and models written as modules (`nn`). They are independent of each
other.

`graph_builder` is the builder that both importers use.
"""
