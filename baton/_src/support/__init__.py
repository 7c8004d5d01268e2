"""Utilities for every layer, independent of the IR: spans, diagnostics, options, progress."""
