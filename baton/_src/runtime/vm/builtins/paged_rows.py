"""The sequences of a cache in pages, and the new tokens of each.

A sequence may slide: it keeps its first `sink` tokens and the last ones, `window` in all. New tokens attend to all that
it has kept so far and to each other; after that, those that are too many are forgotten. What stays moves together, and
positions are counted in it (StreamingLLM).
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from baton._src.runtime.vm.builtins import token_trees
from baton._src.support.dataclass import dataclass

Array = np.ndarray[Any, Any]


@dataclass
class Row:
    """One sequence: its pages in order, and how many tokens they hold."""

    pages: list[int] = field(default_factory=list)
    length: int = 0
    tree: tuple[int, ...] = ()
    """The parents of its last tokens, while it is undecided which of them are accepted."""
    forked: int = 0
    """How many of its first tokens were another sequence's, too: they never slide."""
    window: int = 0
    """How many tokens it keeps; 0: all."""
    sink: int = 0

    def length_after(self, count: int) -> int:
        """How many tokens are kept with `count` new ones."""
        length = self.length + count
        return min(length, self.window) if self.window else length


@dataclass(frozen=True)
class New:
    """New tokens of a sequence that had `start` tokens; the last ones of `tree`, if there is one."""

    row: Row
    start: int
    count: int
    tree: tuple[int, ...]
    window: int
    """How many tokens the sequence keeps; 0: all."""

    @property
    def places(self) -> Array:
        """Their indices in the sequence."""
        return np.arange(self.start, self.start + self.count)

    @property
    def positions(self) -> Array:
        """Their positions in the sequence: alternatives have the same position."""
        if not self.tree:
            return self.places
        settled = self.start + self.count - len(self.tree)
        found: Array = settled + token_trees.depths(self.tree)[-self.count :]
        return found

    @property
    def seen(self) -> Array:
        """(new tokens, tokens of the sequence) of bool: the tokens that each of them attends to."""
        found: Array = np.arange(self.start + self.count) <= self.places[:, None]
        if self.tree:
            found[:, -len(self.tree) :] = token_trees.seen(self.tree)[-self.count :]
        return found

    @property
    def kept(self) -> Array:
        """Which tokens of the sequence stay in its window."""
        every, sink = np.arange(self.start + self.count), self.row.sink
        found: Array = np.r_[every[:sink], every[sink:][-(self.window - sink) :]]
        return found
