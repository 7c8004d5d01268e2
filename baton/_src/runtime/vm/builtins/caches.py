"""Growing caches of rows, and debugging functions ordered by an effect (called by `relax.frontend.nn`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baton._src.runtime.value_errors import describe, mismatch
from baton._src.support.diagnostics import fail
from baton._src.values.packed_func import PROCESS_FUNCTIONS
from baton._src.values.tensor import NDArray, array


class RowCache:
    """Rows in memory that doubles when it is full; the first `filled` of them are in use."""

    def __init__(self, rows: np.ndarray[Any, Any], filled: int) -> None:
        self.rows, self.filled = rows, filled

    def append(self, rows: np.ndarray[Any, Any]) -> None:
        needed = self.filled + len(rows)
        if needed > len(self.rows):
            larger = np.empty((max(needed, 2 * len(self.rows)), *self.rows.shape[1:]), self.rows.dtype)
            larger[: self.filled] = self.rows[: self.filled]
            self.rows = larger
        self.rows[self.filled : needed] = rows
        self.filled = needed


def create(initial: NDArray, shape: Any, filled: int) -> RowCache:
    """A cache with the memory (and, up to `filled`, the rows) of a tensor; each call makes its own."""
    return RowCache(np.array(initial.numpy()), int(filled))


def append(cache: Any, rows: NDArray) -> RowCache:
    """Add rows of the cache's shape."""
    found = _cache("attention_kv_cache_append", cache)
    if rows.shape[1:] != found.rows.shape[1:] or rows.numpy().dtype != found.rows.dtype:
        raise fail("value-mismatch", f"a cache of rows {found.rows.shape[1:]} cannot take {describe(rows)}")
    found.append(rows.numpy())
    return found


def view(cache: Any, shape: Any) -> NDArray:
    """The rows in use, in the given `shape`."""
    found = _cache("attention_kv_cache_view", cache)
    wanted = tuple(int(d) for d in shape)
    if wanted != (found.filled, *found.rows.shape[1:]):
        held = (found.filled, *found.rows.shape[1:])
        raise fail("value-mismatch", f"the cache holds {held}, but a view of {wanted} is requested")
    return array(found.rows[: found.filled].copy())


def _cache(what: str, value: Any) -> RowCache:
    if not isinstance(value, RowCache):
        raise mismatch(what, "a cache of rows", describe(value))
    return value


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
    "vm.builtin.attention_kv_cache_view": view,
    "vm.builtin.invoke_debug_func": invoke_debug_func,
    "vm.builtin.debug_print": debug_print,
}
