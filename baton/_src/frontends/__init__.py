"""Importers of ONNX files and PyTorch programs, over one builder (`graph_builder`), and models written as modules (`nn`).

None of them knows another.
"""
