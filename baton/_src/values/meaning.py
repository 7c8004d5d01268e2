"""The meaning of tensors at a model's interface that encode something else: strings, dictionaries, sequences.

Programs compute with tensors of numbers. A model may also take and return strings, dictionaries and sequences: its
border converts them to tensors and back.
"""

from __future__ import annotations

from typing import NamedTuple


class Meaning(NamedTuple):
    """`kind` is one of those below; `keys` and `count` are used by some of them. Serialised in JSON as a list."""

    kind: str
    keys: tuple[str | int, ...] = ()
    length: int = 0


PLAIN = Meaning("tensor")
STRING_IDS = Meaning("string")
"""Strings by number: the index in the list of the model's strings, or beyond its end."""
STACK = Meaning("stack")
"""A sequence of tensors, stacked along a new first axis."""


def scores_by_key(keys: tuple[str | int, ...]) -> Meaning:
    """One column for each key: every row is a dictionary."""
    return Meaning("scores", keys)


def values_by_key(keys: tuple[str | int, ...], strings: bool = False) -> Meaning:
    """A dictionary, of numbers or of strings: one value for each key, in ascending order if no keys are named."""
    return Meaning("string map" if strings else "map", keys)


def is_map(meaning: Meaning) -> bool:
    """Whether it is a dictionary, of numbers or of strings."""
    return meaning.kind in ("map", "string map")


def sequence_of(count: int) -> Meaning:
    """So many tensors, next to each other."""
    return Meaning("sequence", (), count)


__all__ = ["PLAIN", "STACK", "STRING_IDS", "Meaning", "is_map", "scores_by_key", "sequence_of", "values_by_key"]
