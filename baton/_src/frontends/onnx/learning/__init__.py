"""Converters of the domains `ai.onnx.ml` (exported scikit-learn models) and `ai.onnx.preview.training`."""
