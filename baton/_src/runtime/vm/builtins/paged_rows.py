"""The sequences of a cache in pages, and the new tokens of each.

A sequence may slide: it keeps its first `sink` tokens and the last ones, `window` in all. New tokens attend to all that
it has kept so far and to each other; after that, those that are too many are forgotten. Positions are counted in what
stays (StreamingLLM), which stays where it is: a table says in which slot of the cache's memory each token is.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from baton._src.runtime.vm.builtins import token_trees
from baton._src.support.dataclass import dataclass

Array = np.ndarray[Any, Any]
ROOM = 64
"""Tokens that a table has room for at least. It is not made longer with each token: kernels check new shapes anew."""


@dataclass(eq=False)
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
    table: Array = field(default_factory=lambda: np.zeros(0, "int32"))
    """The slots of its tokens, in order, and room for more."""

    @property
    def slots(self) -> Array:
        """Where its tokens are."""
        return self.table[: self.length]

    def put(self, start: int, slots: Array) -> None:
        """Tokens from `start` on are in these slots."""
        end = start + len(slots)
        if end > len(self.table):
            self.table = np.concatenate([self.table, np.zeros(max(end, ROOM), "int32")])
        self.table[start:end] = slots

    def length_after(self, count: int) -> int:
        """How many tokens are kept with `count` new ones."""
        length = self.length + count
        return min(length, self.window) if self.window else length


@dataclass(frozen=True, eq=False)
class New:
    """New tokens of a sequence that had `start` tokens; the last ones of `tree`, if there is one."""

    row: Row
    start: int
    count: int
    tree: tuple[int, ...]
    table: Array
    """The slots of all tokens that these attend to, and maybe more."""
    stays: Array
    """Those of them that stay, if they are stored aside until they have been attended to."""
    places: Array
    """The slots of those that stay."""

    @property
    def total(self) -> int:
        """How many tokens are attended to."""
        return self.start + self.count

    @property
    def slots(self) -> Array:
        """Where the new tokens are stored."""
        return self.table[self.start : self.total]

    @property
    def positions(self) -> Array:
        """Their positions in the sequence: alternatives have the same position."""
        if not self.tree:
            return np.arange(self.start, self.total)
        settled = self.total - len(self.tree)
        found: Array = settled + token_trees.depths(self.tree)[-self.count :]
        return found

    @property
    def seen(self) -> Array:
        """(new tokens, tokens of the sequence) of bool: the tokens that each of them attends to."""
        found: Array = np.arange(self.total) <= np.arange(self.start, self.total)[:, None]
        if self.tree:
            found[:, -len(self.tree) :] = token_trees.seen(self.tree)[-self.count :]
        return found
