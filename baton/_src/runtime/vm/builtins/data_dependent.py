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
    """The distinct elements, ascending; with their first indices, the inverse map and counts where asked for."""
    find: Any = np.unique  # typed for flags that are literals only
    found = find(data.data, bool(index), bool(inverse), bool(counts), axis=_axis_of(axis))
    if not isinstance(found, tuple):
        return NDArray(np.ascontiguousarray(found))
    first, *rest = found
    return (NDArray(np.ascontiguousarray(first)), *[NDArray(np.ascontiguousarray(r).astype(np.int64)) for r in rest])


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
