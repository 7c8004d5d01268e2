"""Relay: `nodes/`, types in `check/`, patterns, the reference interpreter, `text/` (lexer, parser, printer)."""
