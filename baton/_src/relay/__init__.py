"""Relay: `nodes/`, type inference in `check/`, patterns, interpreter, `text/` (lexer, parser, printer)."""
