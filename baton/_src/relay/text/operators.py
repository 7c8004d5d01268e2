"""Binary operators of Relay text: how tightly they bind, and what they stand for. All associate to the left."""

from __future__ import annotations

PRECEDENCE = {
    "*": (12, "multiply"),
    "/": (12, "divide"),
    "+": (10, "add"),
    "-": (10, "subtract"),
    "<": (8, "less"),
    "<=": (8, "less_equal"),
    ">": (8, "greater"),
    ">=": (8, "greater_equal"),
    "==": (7, "equal"),
    "!=": (7, "not_equal"),
    "&&": (5, "logical_and"),
    "||": (4, "logical_or"),
}
