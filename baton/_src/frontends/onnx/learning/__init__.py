"""Converters of the domains `ai.onnx.ml`, what scikit-learn's models become, and `ai.onnx.preview.training`."""
