"""Converters of the domain `ai.onnx.ml`: what scikit-learn's models become."""
