"""What compiled Relay matches need: does a value fit a pattern?

Patterns are written `_` (anything), `2(_,1())` (constructor 2 with such fields), `t(_,_)` (a tuple); each is read
once and kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from baton._src.support.diagnostics import InternalError
from baton._src.values.adt import ADT
from baton._src.values.tensor import NDArray

Shape = tuple[int | None, tuple[Any, ...]] | None
"""None: anything. (tag, fields): a constructor; (None, fields): a tuple."""

_TOKEN = re.compile(r"(\d+|t)\(|[_,)]")


def adt_fits(value: Any, pattern: str) -> NDArray:
    """A boolean scalar: whether `value` fits `pattern`."""
    return NDArray(np.asarray(_fits(value, read_pattern(pattern))))


def _fits(value: Any, pattern: Shape) -> bool:
    work = [(value, pattern)]
    while work:
        here, wanted = work.pop()
        if wanted is None:
            continue
        tag, fields = wanted
        if tag is not None and (not isinstance(here, ADT) or here.tag != tag):
            return False
        work.extend(zip(here.fields if tag is not None else here, fields))
    return True


@lru_cache(maxsize=4096)
def read_pattern(text: str) -> Shape:
    """A pattern in the notation above."""
    open_: list[tuple[int | None, list[Shape]]] = [(None, [])]
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise InternalError(f"adt_fits cannot read the pattern {text!r}")
        position = found.end()
        if found.group(1) is not None:
            open_.append((None if found.group(1) == "t" else int(found.group(1)), []))
        elif found.group() == "_":
            open_[-1][1].append(None)
        elif found.group() == ")":
            tag, fields = open_.pop()
            open_[-1][1].append((tag, tuple(fields)))
    return open_[0][1][0]


TABLE: Mapping[str, Callable[..., Any]] = {"vm.builtin.adt_fits": adt_fits}
