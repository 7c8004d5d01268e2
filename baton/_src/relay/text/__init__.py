"""Relay as text: `lexer` and `parser` read seed 004's notation and version 0.0.5, `printer` writes 0.0.5.

Reading, from a `cursor` with a `scope` of `names`: `expression_reader`, `sequence_reader`, `branch_reader`,
`pattern_reader`, `signature_reader`, `type_reader`, `attribute_reader`, `constant_reader`, `metadata_reader`;
`elaborate` makes the strict tree. Writing: `expression_printer`, `closed_blocks`, `type_text`, `literals`,
`unique_names`. Both: `operators`.
"""
