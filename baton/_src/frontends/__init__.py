"""Importers of ONNX files and PyTorch programs, and models written as modules (`nn`). None knows another."""
