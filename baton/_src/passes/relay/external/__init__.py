"""Partition programs for external compilers."""
