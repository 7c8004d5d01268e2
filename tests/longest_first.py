"""The order in which files are tested: those that may take long begin first, so that no process waits for the last.

pytest-xdist gives a file to one process as a whole, and by itself begins with the files of the most tests. These are
mostly tables of small cases, while the longest files hold a few tests that compile whole models or many programs: begun
last, one of them would keep a single process busy for minutes. `make test` turns that order off
(`--no-loadscope-reorder`) and takes the one given here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
LONG = (
    "properties",  # hundreds of random programs a test
    "models",  # whole models
    "examples",
    "docs",
    "lower",  # kernels, compiled with every access checked
    "driver",  # searches, tutorials, other processes
    "tools",  # commands, each a process
    "relay",  # calls as deep as memory allows
    "frontends",
    "face",
)
"""Folders and files of `tests` of which a test may take seconds, the longest first; all others take less."""


def longest_first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """`items` by the first of `LONG` that they lie in, else in the order in which they were."""
    return sorted(items, key=lambda item: _place(item.path))


@cache
def _place(path: Path) -> int:
    return next((n for n, top in enumerate(LONG) if path.is_relative_to(TESTS / top)), len(LONG))
