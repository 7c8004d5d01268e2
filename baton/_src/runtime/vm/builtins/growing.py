"""Tensors that a loop appends to: the memory behind one is filled in place.

    y = appended(x, rows)       y has the elements of x, then those of rows, along axis 0

The memory of y has room behind it, as that of x may. If nothing has been appended to x yet, rows are written there:
x stays as it is, and nobody else has this room. Otherwise x is copied to memory twice as large, so that a loop copies
each row a few times only, however long it runs. `complete(x)`: nothing more is appended to the memory of x.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.runtime.native.addresses import data_address
from baton._src.runtime.native.counted_outputs import used_part
from baton._src.runtime.value_errors import describe
from baton._src.support.diagnostics import fail
from baton._src.values.aligned import LINE
from baton._src.values.tensor import AnyArray, NDArray

LEAST = 1024
"""Bytes of the first memory with room."""
SMALL = 1 << 16
"""Bytes of rows that may stay in their memory however few they are."""


class Room(np.ndarray[Any, Any]):
    """Bytes; those from `start` on belong to one tensor, which has `filled` of them (-1: nothing is to be appended)."""

    start = 0
    filled = -1


def appended(so_far: NDArray, rows: NDArray, count: NDArray | None = None) -> NDArray:
    """Both along axis 0. `so_far` is seen as rows of the same shape.

    With a `count`, only so many of `rows` are, and their memory is nobody else's: the first ones may stay there.
    """
    own, added = so_far.data, rows.data if count is None else rows.data[: int(count.data.item())]
    row = added.shape[1:]
    if count is not None and len(own) == 0 and (4 * added.nbytes >= rows.data.nbytes or rows.data.nbytes <= SMALL):
        return NDArray(added, so_far.device)
    length, left = divmod(own.size, math.prod(row)) if 0 not in row else (len(own), 0)
    if left:
        raise fail("value-mismatch", f"{describe(rows)} is appended to {describe(so_far)}, which has no such rows")
    begin, end = own.nbytes, own.nbytes + added.nbytes
    room = _room(own)
    if room is None or room.filled != begin or room.start + end > room.size:
        room = _new_room(max(2 * end, LEAST))
        _bytes(room)[:begin] = own.reshape(-1).view(np.uint8)
    place = _bytes(room)[:end]
    place[begin:] = added.reshape(-1).view(np.uint8)
    room.filled = end
    return NDArray(place.view(added.dtype).reshape(length + len(added), *row), so_far.device)


def complete(tensor: NDArray) -> NDArray:
    """The same tensor, to which nothing more is appended in place: others may hold it, and write into it."""
    room = _room(tensor.data)
    if room is not None:
        room.filled = -1
    return tensor


def used(memory: NDArray, shape: Sequence[int]) -> NDArray:
    """The first elements of `memory`, as a tensor of that shape; of much memory little is copied."""
    return NDArray(used_part(memory.data, tuple(shape)), memory.device)


def _room(array: AnyArray) -> Room | None:
    """The memory that a tensor's array is a view of, if it has room."""
    base: Any = array.base
    while base is not None and not isinstance(base, Room):
        base = base.base if isinstance(base, np.ndarray) else None
    return base


def _bytes(room: Room) -> AnyArray:
    """The memory, from an aligned address on."""
    return room.view(np.ndarray)[room.start :]


def _new_room(size: int) -> Room:
    room = Room(size + LINE, np.uint8)
    room.start = -data_address(room) % LINE
    return room


TABLE: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.appended": appended,
    "vm.builtin.complete": complete,
    "vm.builtin.used": used,
}
