"""Caches of rows, as scripts use them by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton._src.support.diagnostics import DiagnosticError


def call(name: str, *args: Any) -> Any:
    return baton.get_global_func(f"vm.builtin.attention_kv_cache_{name}")(*args)


def rows(*values: float) -> baton.nd.NDArray:
    """Rows of two equal numbers."""
    return baton.nd.array(np.repeat(np.array(values, "float32"), 2).reshape(-1, 2))


def held(cache: Any) -> list[float]:
    return [float(row[0]) for row in call("view", cache).numpy()]


def test_a_cache_begins_with_rows_in_memory_of_a_shape() -> None:
    """Guards the number of rows in use: negative, all that were given are."""
    cache = call("create", rows(1, 2, 3), (8, 2), -1)
    assert held(call("append", cache, rows(4))) == [1, 2, 3, 4]
    assert held(call("create", rows(1, 2, 3), (3, 2), 2)) == [1, 2]
    assert call("view", cache, (4, 2)).shape == (4, 2)
    with pytest.raises(DiagnosticError, match="of 3 rows cannot have 4 in use"):
        call("create", rows(1, 2, 3), (3, 2), 4)
    with pytest.raises(DiagnosticError, match="cannot begin with"):
        call("create", rows(1), (3, 4), 0)


def test_rows_are_replaced_and_forgotten() -> None:
    caches = [call("create", rows(1, 2, 3), (3, 2), 3) for _ in range(2)]
    call("array_popn", caches, 2)
    assert [held(cache) for cache in caches] == [[1], [1]]
    assert held(call("append", caches[0], rows(5, 6, 7))) == [1, 5, 6, 7]
    assert held(call("update", caches[0], rows(9, 8, 7, 6))) == [9, 8, 7, 6]
    with pytest.raises(DiagnosticError, match="4 rows in use cannot be updated"):
        call("update", caches[0], rows(1))
    with pytest.raises(DiagnosticError, match="1 rows in use cannot forget 2"):
        call("array_popn", caches, 2)
    assert held(caches[0]) == [9, 8, 7, 6]
    call("array_clear", caches)
    assert held(caches[0]) == []


@pytest.mark.parametrize("sinks", [0, 2])
@pytest.mark.parametrize("step", [1, 3, 5])
def test_a_window_keeps_the_last_rows(step: int, sinks: int) -> None:
    """Whatever the order in memory is: the first `sinks` rows and the last ones of all."""
    most = 7
    cache = call("create", rows(-1), (2, 2), 0)
    given: list[float] = []
    for start in range(0, 40, step):
        more = [float(start + i) for i in range(step)]
        given += more
        if sinks:
            call("window_override_with_sinks", cache, rows(*more), most, sinks)
        else:
            call("window_override", cache, rows(*more), most)
        kept = given[:sinks] + given[sinks:][sinks - most :] if len(given) > most else given
        found = held(cache)
        assert sorted(found) == sorted(kept)
        assert found[:sinks] == given[:sinks]
    with pytest.raises(DiagnosticError, match="a window of 7 rows"):
        call("window_override", cache, rows(*range(8)), most)
