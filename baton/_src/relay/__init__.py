"""Relay: `nodes`, type inference in `check/`, builders, patterns, the reference interpreter, `text/` (lexer, parser, printer)."""
