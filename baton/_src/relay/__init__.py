"""Relay: `nodes`, type inference in `check/`, patterns, the reference interpreter, `text/` (lexer, parser, printer)."""
