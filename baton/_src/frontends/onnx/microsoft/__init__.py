"""Converters of the domain `com.microsoft`: the operators that onnxruntime's tools write into files."""
