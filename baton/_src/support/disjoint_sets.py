"""Sets that have no element in common and grow together (union-find)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class DisjointSets(Generic[T]):
    """Elements, each in one set. One that is asked for and not known yet is a set of its own from then on."""

    def __init__(self) -> None:
        self._parent: dict[T, T] = {}

    def __contains__(self, element: object) -> bool:
        return element in self._parent

    def find(self, element: T) -> T:
        """The element that stands for the whole set."""
        self._parent.setdefault(element, element)
        while self._parent[element] is not element:
            self._parent[element] = element = self._parent[self._parent[element]]
        return element

    def join(self, one: T, other: T) -> None:
        """Make two sets one; what stood for the set of `one` stands for both."""
        self._parent[self.find(other)] = self.find(one)


def overlapping(sets: Sequence[AbstractSet[Any]]) -> list[list[int]]:
    """The numbers of `sets`, those together that have elements in common, be it through others."""
    groups: list[tuple[AbstractSet[Any], list[int]]] = []
    for number, elements in enumerate(sets):
        members = [number]
        for group in [g for g in groups if g[0] & elements]:
            groups.remove(group)
            elements, members = elements | group[0], [*group[1], *members]
        groups.append((elements, members))
    return [members for _, members in groups]
