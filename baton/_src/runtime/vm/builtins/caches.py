"""Growing caches of rows, and debugging functions ordered by an effect (called by `relax.frontend.nn`, and by name).

A cache is appended to, or used as a window over the last rows, which takes them in turn (TVM v0.19's
`vm.builtin.attention_kv_cache_*`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from baton._src.runtime.value_errors import describe, mismatch
from baton._src.support.diagnostics import fail
from baton._src.values.packed_func import PROCESS_FUNCTIONS
from baton._src.values.tensor import AnyArray, NDArray, array


class RowCache:
    """Rows in memory that doubles when it is full; the first `filled` of them are in use. `position` is where the next
    row goes: behind them, unless a window has come to its end."""

    def __init__(self, rows: AnyArray, filled: int) -> None:
        self.rows, self.filled, self.position = rows, filled, filled

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the rows in use."""
        return (self.filled, *self.rows.shape[1:])

    def append(self, rows: AnyArray) -> None:
        needed = self.filled + len(rows)
        self._reserve(needed)
        self.rows[self.filled : needed] = rows
        self.cut(needed)

    def override(self, rows: AnyArray, most: int, sinks: int) -> None:
        """Add rows to a window of `most`; where it is full, they take the places of the oldest. The first `sinks` rows
        keep theirs."""
        self._reserve(min(self.filled + len(rows), most))
        fitting = min(len(rows), most - self.position)
        end = self.position + fitting
        self.rows[self.position : end] = rows[:fitting]
        self.filled, self.position = min(self.filled + len(rows), most), end
        if fitting < len(rows):
            self.position = sinks + len(rows) - fitting
            self.rows[sinks : self.position] = rows[fitting:]

    def cut(self, filled: int) -> None:
        """Let the first `filled` rows be in use."""
        self.filled = self.position = filled

    def _reserve(self, needed: int) -> None:
        if needed > len(self.rows):
            larger = np.empty((max(needed, 2 * len(self.rows)), *self.rows.shape[1:]), self.rows.dtype)
            larger[: self.filled] = self.rows[: self.filled]
            self.rows = larger


def create(initial: NDArray, shape: Any, filled: int) -> RowCache:
    """A cache with memory of a `shape`, or larger, that begins with the rows of a tensor, of which the first `filled`
    are in use (all of them if it is negative); each call makes its own."""
    given = initial.data
    if tuple(shape[1:]) != given.shape[1:]:
        raise fail("value-mismatch", f"a cache of shape {tuple(shape)} cannot begin with {describe(initial)}")
    rows = np.zeros((max(int(shape[0]), len(given)), *given.shape[1:]), given.dtype)
    rows[: len(given)] = given
    count = len(given) if filled < 0 else int(filled)
    if count > len(rows):
        raise fail("value-mismatch", f"a cache of {len(rows)} rows cannot have {count} in use")
    return RowCache(rows, count)


def append(cache: Any, rows: NDArray) -> RowCache:
    """Add rows of the cache's shape."""
    found = _cache_for("attention_kv_cache_append", cache, rows)
    found.append(rows.data)
    return found


def update(cache: Any, rows: NDArray) -> RowCache:
    """Replace the rows in use, by as many."""
    found = _cache_for("attention_kv_cache_update", cache, rows)
    if len(rows.data) != found.filled:
        raise fail("value-mismatch", f"a cache with {found.filled} rows in use cannot be updated by {describe(rows)}")
    found.rows[: found.filled] = rows.data
    return found


def window_override(cache: Any, rows: NDArray, max_cache_size: int, num_attention_sinks: int = 0) -> RowCache:
    """Add rows to a window over the last `max_cache_size`, whose first `num_attention_sinks` rows stay."""
    found = _cache_for("attention_kv_cache_window_override", cache, rows)
    most, sinks = int(max_cache_size), int(num_attention_sinks)
    if sinks < 0 or len(rows.data) > most - sinks or found.filled > most:
        message = f"a window of {most} rows, {sinks} of which stay, with {found.filled} in use cannot take"
        raise fail("value-mismatch", f"{message} {describe(rows)}")
    found.override(rows.data, most, sinks)
    return found


def view(cache: Any, shape: Any = None) -> NDArray:
    """The rows in use, in the given `shape`, which is theirs."""
    found = _cache("attention_kv_cache_view", cache)
    wanted = found.shape if shape is None else tuple(int(d) for d in shape)
    if wanted != found.shape:
        raise fail("value-mismatch", f"the cache holds {found.shape}, but a view of {wanted} is requested")
    return array(found.rows[: found.filled].copy())


def array_popn(caches: Iterable[Any], count: int) -> None:
    """Forget the last rows of several caches."""
    found = [_cache("attention_kv_cache_array_popn", cache) for cache in caches]
    least = min((cache.filled for cache in found), default=count)
    if not 0 <= count <= least:
        raise fail("value-mismatch", f"a cache with {least} rows in use cannot forget {count}")
    for cache in found:
        cache.cut(cache.filled - int(count))


def array_clear(caches: Iterable[Any]) -> None:
    """Forget all rows of several caches."""
    for cache in caches:
        _cache("attention_kv_cache_array_clear", cache).cut(0)


def _cache(what: str, value: Any) -> RowCache:
    if not isinstance(value, RowCache):
        raise mismatch(what, "a cache of rows", describe(value))
    return value


def _cache_for(what: str, value: Any, rows: NDArray) -> RowCache:
    """The cache, which takes such rows."""
    found = _cache(what, value)
    if rows.shape[1:] != found.rows.shape[1:] or rows.data.dtype != found.rows.dtype:
        raise fail("value-mismatch", f"a cache of rows {found.rows.shape[1:]} cannot take {describe(rows)}")
    return found


def invoke_debug_func(effect: Any, name: str, place: str, *args: Any) -> None:
    """Call a packed function with the place in the source and the values."""
    function = debug_print if name == "vm.builtin.debug_print" else PROCESS_FUNCTIONS.lookup(name)
    function(place, *args)


def debug_print(place: str, value: NDArray) -> None:
    """Print a tensor."""
    print(f"{place}: shape = {value.shape}, dtype = {value.dtype}, data =\n{value}")


TABLE: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.attention_kv_cache_create": create,
    "vm.builtin.attention_kv_cache_append": append,
    "vm.builtin.attention_kv_cache_update": update,
    "vm.builtin.attention_kv_cache_window_override": window_override,
    "vm.builtin.attention_kv_cache_window_override_with_sinks": window_override,
    "vm.builtin.attention_kv_cache_view": view,
    "vm.builtin.attention_kv_cache_array_popn": array_popn,
    "vm.builtin.attention_kv_cache_array_clear": array_clear,
    "vm.builtin.invoke_debug_func": invoke_debug_func,
    "vm.builtin.debug_print": debug_print,
}
