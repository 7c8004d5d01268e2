"""Converters of the domain `com.microsoft`: what onnxruntime's tools write into files."""
