"""Random bits from keys, and numbers drawn with them; draws with numbers that are given."""
