"""Names for printing: Python identifiers, each given to one variable, near the hints."""

from __future__ import annotations

import keyword
import re
from typing import Any

from baton._src.relax.fresh_names import FreshNames

_RESERVED = frozenset({"", "R", "T", "I", "cls", "metadata", "tvm", "Module", "_", *keyword.kwlist})


class Names:
    """Gives each variable (by identity) a name that nothing else has."""

    def __init__(self) -> None:
        self._of: dict[Any, str] = {}
        self._fresh = FreshNames("_", _RESERVED)

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
        return self._fresh.fresh("" if base == "_" else base)  # a dropped value: `_1`, `_2`, ...


def identifier(hint: str) -> str:
    """`hint` as a Python identifier."""
    found = re.sub(r"\W", "_", hint) or "v"
    return f"v{found}" if found[0].isdigit() else found
