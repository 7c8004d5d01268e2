"""Names of variables and buffers in printed text: identifiers near the hints, unique wherever both are seen."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_RESERVED = frozenset({"T", "R", "I", "cls", "tvm", "range", "_", *keyword.kwlist})


class Names:
    """Gives each variable or buffer (by identity) a name nothing else has that is visible with it."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._taken: dict[str, int] = dict.fromkeys(_RESERVED, 1)
        self._given: list[list[Any]] = [[]]
        """What was given a name in each scope that is open."""
        self._past: set[Any] = set()
        """What had its name in a scope that is closed: met once more, it keeps it if that is free there."""

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names given inside are free again afterwards."""
        self._given.append([])
        yield
        for owner in self._given.pop():
            self._taken.pop(self._names[owner], None)
            self._past.add(owner)

    def of(self, owner: Any) -> str:
        """The name of a variable or buffer, derived from its hint on first use."""
        name = self._names.get(owner)
        if name is None or owner in self._past:
            self._past.discard(owner)
            if name is None or name in self._taken:
                name = self._names[owner] = self._free(owner.name)
            self._taken[name] = 1
            self._given[-1].append(owner)
        return name

    @property
    def owners(self) -> list[Any]:
        """Whatever has a name, in the order the names were first written."""
        return list(self._names)

    def knows(self, owner: Any) -> bool:
        """Whether it has a name already."""
        return owner in self._names

    def set(self, owner: Any, text: str) -> None:
        """Spell it as `text` (`A.data` for the pointer of a buffer)."""
        self._names.setdefault(owner, text)

    def _free(self, hint: str) -> str:
        base = re.sub(r"\W", "_", hint) or "v"
        base = f"v{base}" if base[0].isdigit() else base
        count = self._taken.get(base, 0)
        name = f"{base}_{count}" if count else base
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        if count:
            self._taken[base] = count + 1
        return name
