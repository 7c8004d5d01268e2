"""Names for printing: Python identifiers, each given to one variable, near the hints."""

from __future__ import annotations

import keyword
import re
from typing import Any

_RESERVED = frozenset({"", "R", "T", "I", "cls", "metadata", "tvm", "Module", "_", *keyword.kwlist})


class Names:
    """Gives each variable (by identity) a name that nothing else has."""

    def __init__(self) -> None:
        self._of: dict[Any, str] = {}
        self._counts: dict[str, int] = dict.fromkeys(_RESERVED, 1)

    def of(self, var: Any, hint: str) -> str:
        """The name of `var`; a new one near `hint` the first time."""
        name = self._of.get(var)
        if name is None:
            name = self._of[var] = self.free(hint)
        return name

    def knows(self, var: Any) -> bool:
        """Whether `var` has been named."""
        return var in self._of

    def bind(self, var: Any, name: str) -> None:
        """Give `var` a name that another variable has as well; the two are never in scope together."""
        self._of[var] = name

    def free(self, hint: str) -> str:
        """A name nothing has yet."""
        base = identifier(hint)
        if base == "_":  # a dropped value: `_1`, `_2`, ...
            base = ""
        count = self._counts.get(base, 0)
        name = f"{base}_{count}" if count else base
        while count and name in self._counts:
            count += 1
            name = f"{base}_{count}"
        self._counts[base] = count + 1
        if count:
            self._counts[name] = 1
        return name


def identifier(hint: str) -> str:
    """`hint` as a Python identifier."""
    found = re.sub(r"\W", "_", hint) or "v"
    return f"v{found}" if found[0].isdigit() else found
