"""Importers of ONNX and TensorFlow Lite files, PyTorch programs and StableHLO (JAX), and models written as modules
(`nn`). They are independent of each other.

`graph_builder` is the builder that all importers use.
"""
