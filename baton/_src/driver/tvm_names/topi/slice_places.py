"""`topi.utils`: which elements of an axis a slice `[b:e:s]` takes, and their positions in the result. Bounds and steps
may vary.
"""

from __future__ import annotations

from typing import Any

from baton._src.tir import operators
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.expr import literal
from baton._src.values.dtype import BOOL


def within_index(b: Any, e: Any, s: Any, i: Any) -> Any:
    """Whether the slice takes place `i`."""
    is_between = _choose(s < 0, _both(i > e, i <= b), _both(i >= b, i < e))
    distance = _choose(s < 0, b - i, i - b)
    return _choose(is_between, operators.floormod(distance, _choose(s < 0, -s, s)).equal(0), literal(False, BOOL))


def make_idx(b: Any, e: Any, s: Any, z: Any, i: Any) -> Any:
    """The index in a slice of an axis of size `z` for position `i`; 0 outside of the slice."""
    is_between = _choose(s < 0, _both(i > e, i <= b), _both(i >= b, i < e))
    begin = _choose(z < b, z - 1, b)
    steps = operators.floordiv(_choose(s < 0, begin - i, i - begin), _choose(s < 0, -s, s))
    return _choose(is_between, steps, 0)


def _both(a: Any, b: Any) -> Any:
    return operators.all(a, b)


def _choose(test: Any, yes: Any, no: Any) -> Any:
    """One of two; which one may be known now."""
    return (yes if test else no) if isinstance(test, bool) else if_then_else(test, yes, no)
