"""Computing with shapes while importing: exporters write `Shape -> Gather -> Concat -> Reshape`; here that stays dims.

Each row evaluates an ONNX operator on small integer tensors whose elements are ints or PrimExprs (object arrays). A row
returns None where it cannot; the ordinary converter then takes over. Floats that are whole numbers are evaluated by
rows that keep them whole: exporters convert sizes to floats to scale them, or to count with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.size_arithmetic import (
    Undecided,
    divide,
    elementwise,
    equal,
    is_symbolic,
    maximum,
    minimum,
    product,
)
from baton._src.values.dtype import BOOL, FLOAT32, FLOAT64, INT32, INT64, DataType
from baton._src.values.tensor import AnyArray

Contents = list[Any]
"""One object array an operand; None for an absent one."""
Attributes = dict[str, Any]
Folder = Callable[[Contents, Attributes], Any]

_CONVERTED = {1: FLOAT32, 6: INT32, 7: INT64, 11: FLOAT64}
"""Element types that hold sizes, by ONNX's numbers."""


MOST_FACTORS = 8
"""Of a power that is written out as a product."""


def _gather(x: Contents, a: Attributes) -> Any:
    return None if is_symbolic(x[1]) else np.take(x[0], x[1].astype(np.int64), axis=a.get("axis", 0))


def _concat(x: Contents, a: Attributes) -> Any:
    return np.concatenate(x, axis=a.get("axis", 0))


def _slice(x: Contents, a: Attributes) -> Any:
    if len(x) == 1:
        starts, ends, axes, steps = a["starts"], a["ends"], a.get("axes"), None
    else:
        starts, ends = x[1], x[2]
        axes = x[3] if len(x) > 3 else None
        steps = x[4] if len(x) > 4 else None
    if is_symbolic(starts) or is_symbolic(ends):
        return None
    found = x[0]
    for position, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis = int(axes[position]) if axes is not None else position
        window: list[Any] = [slice(None)] * found.ndim
        window[axis] = _window(
            int(start), int(end), int(steps[position]) if steps is not None else 1, found.shape[axis]
        )
        found = found[tuple(window)]
    return found


def _window(start: int, end: int, step: int, size: int) -> slice:
    """What ONNX's bounds take. Python's differ in that a start before the front, going backwards, takes nothing."""
    if step < 0:
        start = max(start + size, 0) if start < 0 else start
    low, high, step = slice(start, end, step).indices(size)
    return slice(low, None if high < 0 else high, step)


def _unsqueeze(x: Contents, a: Attributes) -> Any:
    axes = x[1].reshape(-1) if len(x) > 1 else a.get("axes", ())
    return np.expand_dims(x[0], axis=tuple(int(k) for k in axes))


def _squeeze(x: Contents, a: Attributes) -> Any:
    axes = x[1].reshape(-1) if len(x) > 1 else a.get("axes", ())
    return np.squeeze(x[0], axis=tuple(int(k) for k in axes) if len(axes) else None)


def _reshape(x: Contents, a: Attributes) -> Any:
    if is_symbolic(x[1]):
        return None
    shape = [int(d) for d in x[1]]
    return x[0].reshape(shape) if 0 not in shape else None


def _transpose(x: Contents, a: Attributes) -> Any:
    """As exporters turn PyTorch's widths of pads, which pair the ends of each axis, into ONNX's."""
    return np.transpose(x[0], a.get("perm"))


def _cast(x: Contents, a: Attributes) -> Any:
    return x[0] if a.get("to") in _CONVERTED else None


def _remainder(x: Contents, a: Attributes) -> Any:
    """Of sizes by positive numbers; `fmod` is another thing for what is below zero."""
    positive = all(isinstance(q, int) and q > 0 for q in x[1].reshape(-1))
    return _elementwise(lambda p, q: p % q)(x, a) if positive and not a.get("fmod") else None


def _choose(condition: Any, p: Any, q: Any) -> Any:
    return p if bool(condition) else q


def _elementwise(function: Callable[..., Any]) -> Folder:
    return lambda x, a: elementwise(function, x)


def _where(x: Contents, a: Attributes) -> Any:
    return None if is_symbolic(x[0]) else _elementwise(_choose)(x, a)


def _product(x: Contents, a: Attributes) -> Any:
    """Of the elements of a list, all of them."""
    axes = list(x[1].reshape(-1)) if len(x) > 1 else a.get("axes", ())
    if x[0].ndim != 1 or (not len(axes) and a.get("noop_with_empty_axes")):
        return None
    result = np.empty((1,) if a.get("keepdims", 1) else (), dtype=object)
    result[...] = product(x[0])
    return result


def _power(p: Any, q: Any) -> Any:
    """As exporters write the patches of a square image: (n // 14) ** 2."""
    if not isinstance(q, int) or not 0 <= q <= MOST_FACTORS:
        raise Undecided
    result: Any = 1
    for _ in range(q):
        result = p * result
    return result


def _identity(x: Contents, a: Attributes) -> Any:
    found: AnyArray = x[0]
    return found


FOLDERS: dict[str, Folder] = {
    "Add": _elementwise(lambda p, q: p + q),
    "Cast": _cast,
    "Ceil": _identity,
    "Concat": _concat,
    "Div": _elementwise(divide),
    "Equal": _elementwise(equal),
    "Floor": _identity,
    "Gather": _gather,
    "Identity": _identity,
    "Max": _elementwise(maximum),
    "Min": _elementwise(minimum),
    "Mod": _remainder,
    "Mul": _elementwise(lambda p, q: p * q),
    "Pow": _elementwise(_power),
    "ReduceProd": _product,
    "Reshape": _reshape,
    "Round": _identity,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": _elementwise(lambda p, q: p - q),
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
MALFORMED = (IndexError, ValueError, TypeError, OverflowError)
"""What a folder meets in operands that do not fit, or are not there: the operator's converter tells what is wrong."""
WHOLE = frozenset(FOLDERS) - {"Div", "Mod"}
"""Operators that give whole numbers of floats that are whole numbers, the same as of integers."""


def fold_dims(
    op_type: str, contents: list[AnyArray | None], dtypes: Sequence[DataType], attributes: Attributes
) -> AnyArray | None:
    """The result of an operator on known small whole numbers of these types, at least one of them symbolic; None where
    it cannot tell.
    """
    folder = FOLDERS.get(op_type)
    if folder is None or not contents or any(c is None for c in contents):
        return None
    if op_type not in WHOLE and any(d.is_float for d in dtypes):
        return None
    if not any(is_symbolic(c) for c in contents):
        return None
    try:
        found: AnyArray | None = folder(list(contents), attributes)
        return found
    except (Undecided, *MALFORMED):
        return None


def folded_dtype(op_type: str, dtypes: Sequence[DataType], attributes: Attributes) -> DataType:
    """The element type of what `fold_dims` gives, from those of the operands."""
    match op_type:
        case "Cast":
            return _CONVERTED[attributes["to"]]
        case "Equal":
            return BOOL
        case "Where":
            return dtypes[1]
        case _:
            return dtypes[0]
