"""Names for new variables."""

from __future__ import annotations

from collections.abc import Iterable


class FreshNames:
    """Hands out unique names. Numbers come behind `joint`; `reserved` names are not given to anybody."""

    def __init__(self, joint: str = "", reserved: Iterable[str] = ()) -> None:
        self._joint = joint
        self._reserved = frozenset(reserved)
        self.forget()

    def fresh(self, hint: str) -> str:
        """`hint`, `hint1`, `hint2`, ...: each once."""
        count = self._names.get(hint, 0)
        name = f"{hint}{self._joint}{count}" if count else hint
        while count and name in self._names:
            count += 1
            name = f"{hint}{self._joint}{count}"
        self._names[hint] = count + 1
        if count:
            self._names[name] = 1
        return name

    def forget(self) -> None:
        """Allow all names again (for the next function)."""
        self._names = dict.fromkeys(self._reserved, 1)
