"""Names for new variables."""

from __future__ import annotations


class FreshNames:
    """Hands out unique names."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        """`hint`, `hint1`, `hint2`, ...: each once."""
        count = self._names.get(hint, 0)
        name = f"{hint}{count}" if count else hint
        while count and name in self._names:
            count += 1
            name = f"{hint}{count}"
        self._names[hint] = count + 1
        if count:
            self._names[name] = 1
        return name

    def forget(self) -> None:
        """Allow all names again (for the next function)."""
        self._names.clear()
