"""Relay as text: `lexer` and `parser` read seed 004's notation and version 0.0.5, `printer` writes 0.0.5."""
