"""Importers: ONNX files and PyTorch programs to Relax or Relay. Neither knows the other."""
