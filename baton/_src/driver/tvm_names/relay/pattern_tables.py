"""Pattern tables for `MergeComposite`, by the name of the external compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Table = Sequence[tuple[Any, ...]]
"""Tuples (name, pattern) or (name, pattern, check)."""

_TABLES: dict[str, Callable[[], Table]] = {}


def register_pattern_table(
    compiler: str, table: Callable[[], Table] | None = None
) -> Callable[[Callable[[], Table]], Callable[[], Table]] | Callable[[], Table]:
    """Register a function that makes the patterns of `compiler`, in order of priority; without it, a decorator."""

    def register(made: Callable[[], Table]) -> Callable[[], Table]:
        _TABLES[compiler] = made
        return made

    return register if table is None else register(table)


def get_pattern_table(compiler: str) -> Table | None:
    """The patterns of `compiler`, or None."""
    made = _TABLES.get(compiler)
    return None if made is None else made()
