"""Importers of ONNX files and PyTorch programs, and models written as modules (`nn`). None knows another.

`graph_builder` is what both importers write programs with.
"""
