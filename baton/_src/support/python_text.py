"""Pieces of Python's notation, written from text."""

from __future__ import annotations

from collections.abc import Sequence


def tuple_text(items: Sequence[str]) -> str:
    """A tuple: `(a,)`, `(a, b)`."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
