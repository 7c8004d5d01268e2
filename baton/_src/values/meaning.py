"""What values at a model's border stand for, where they are not simply themselves.

Programs compute with tensors of numbers. A model may also take and give strings, dictionaries and sequences: its border
makes tensors of them and the other way round.
"""

from __future__ import annotations

from typing import NamedTuple


class Meaning(NamedTuple):
    """`kind` is one of those below; `keys` and `count` belong to some of them. JSON holds it as a list."""

    kind: str
    keys: tuple[str | int, ...] = ()
    length: int = 0


PLAIN = Meaning("tensor")
STRING_IDS = Meaning("string")
"""Numbers of strings: places in the list of the strings that the model knows, or behind its end."""
STACK = Meaning("stack")
"""A sequence of tensors, one behind the other along a new first axis."""


def scores_by_key(keys: tuple[str | int, ...]) -> Meaning:
    """Columns, one for each key: a dictionary a row."""
    return Meaning("scores", keys)


def sequence_of(count: int) -> Meaning:
    """So many tensors, next to each other."""
    return Meaning("sequence", (), count)


__all__ = ["PLAIN", "STACK", "STRING_IDS", "Meaning", "scores_by_key", "sequence_of"]
