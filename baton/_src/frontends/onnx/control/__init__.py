"""Converters of control flow and containers: If, Loop, Scan, sequences, optionals."""
