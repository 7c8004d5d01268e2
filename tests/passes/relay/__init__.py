"""Relay's passes: before and after, and values that stay."""
