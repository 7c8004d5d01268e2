"""Files that may take long begin first, and the list of them stays true to the folders."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.longest_first import LONG, TESTS, longest_first


def test_order() -> None:
    """Guards the order of folders, and that tests of one file stay together and as they were."""
    given: list[Any] = [
        SimpleNamespace(path=TESTS / path, name=name)
        for path, name in (("values/a.py", "1"), ("lower/b.py", "2"), ("lower/b.py", "3"), (f"{LONG[0]}/c.py", "4"))
    ]
    assert [item.name for item in longest_first(given)] == ["4", "2", "3", "1"]


def test_all_of_them_are_there() -> None:
    assert [path for path in LONG if not (TESTS / path).exists()] == []
