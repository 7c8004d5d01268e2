"""Operators whose output shape depends on the data: answered by NumPy at run time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baton._src.runtime.executable.constants import Data
from baton._src.runtime.vm.builtins.scope import Machine
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import NDArray


def _axis_of(axis: Any) -> int | None:
    return None if axis is None else int(axis)


def unique(
    data: NDArray, sorted: Any = 1, index: Any = 0, inverse: Any = 0, counts: Any = 0, axis: Any = None
) -> NDArray | tuple[NDArray, ...]:
    """The distinct elements, ascending, or in order of appearance if not `sorted`; with their first indices, the
    inverse map and counts where asked for."""
    along, wanted = _axis_of(axis), (bool(index), bool(inverse), bool(counts))
    find: Any = np.unique  # typed for flags that are literals only
    if sorted and not any(wanted):  # much faster
        return NDArray(np.ascontiguousarray(find(data.data, axis=along)))
    values, first, places, times = find(data.data, True, True, True, axis=along)
    places = places.reshape(-1)
    if not sorted:
        order = np.argsort(first)
        values = np.take(values, order, axis=along or 0)
        first, places, times = first[order], np.argsort(order)[places], times[order]
    chosen = [np.ascontiguousarray(r, np.int64) for r, is_wanted in zip((first, places, times), wanted) if is_wanted]
    found = (NDArray(np.ascontiguousarray(values)), *map(NDArray, chosen))
    return found if chosen else found[0]


def nonzero(data: NDArray) -> NDArray:
    """The coordinates of the elements that are not zero, one row per axis: int64 of shape (rank, count)."""
    found = np.stack(np.nonzero(np.atleast_1d(data.data))).astype(np.int64)
    return NDArray(np.ascontiguousarray(found))


BY_OPERATOR: Mapping[str, Callable[..., Any]] = {
    "unique": lambda attrs, data, *options: unique(data, *options),
    "nonzero": lambda attrs, data: nonzero(data),
}
"""What needs no compiler even where the operator was left to run time."""


def call_operator(machine: Machine, name: str, attrs: Data, *args: Any) -> Any:
    """An operator whose types were unknown when compiling: compiled now (by what the builder attached), or NumPy's."""
    compile_and_run = machine.executable.attached.get("call_operator")
    if compile_and_run is not None:
        return compile_and_run(name, dict(attrs.content), args)
    known = BY_OPERATOR.get(name)
    if known is None:
        raise fail(
            "operator-needs-compiler",
            f"{name} must be compiled for the values it receives, but no compiler is attached to this executable",
            help="load the model with baton.load instead of the bare runtime",
        )
    return known(attrs.content, *args)


TABLE: Mapping[str, Callable[..., Any]] = {
    "relax.run.unique": unique,
    "relax.run.nonzero": nonzero,
    "vm.builtin.call_operator": call_operator,
}
