"""`Namespace`: builder functions by dotted name, made on first use. What an attribute is, only the catalogue knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from baton._src.support.python_in_scripts import OpenToText


class Namespace(OpenToText):
    """Builder functions by name, nested as the operators' names are (`nn.relu`); the `unmade` are made on first use."""

    __slots__ = ("__dict__", "_names", "_unmade")

    def __init__(self, entries: Mapping[str, Any], unmade: Mapping[str, Callable[[], Any]] | None = None) -> None:
        self._unmade = dict(unmade or {})
        self._names = (*entries, *self._unmade)
        self.__dict__.update(entries)

    def __getattr__(self, name: str) -> Any:
        make = self._unmade.get(name)
        if make is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__[name] = made = make()
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def items(self) -> Iterator[tuple[str, Any]]:
        return ((name, getattr(self, name)) for name in self._names)

    def find(self, dotted: str) -> Any:
        """`find("nn.relu")`; None if there is no such builder."""
        found: Any = self
        for part in dotted.split("."):
            found = getattr(found, part) if isinstance(found, Namespace) and part in found else None
        return found
