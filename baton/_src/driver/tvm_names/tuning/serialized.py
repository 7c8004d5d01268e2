"""Arguments of templates and workloads as logs have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.support.diagnostics import fail
from baton._src.te.computation import placeholder
from baton._src.te.tensor import Tensor


def serialized(args: Sequence[Any]) -> tuple[Any, ...]:
    """Arguments as values of JSON; tensors by shape and dtype. Error `api`: an argument is none of these."""
    return tuple(map(_serialized, args))


def deserialized(args: Sequence[Any]) -> list[Any]:
    """The inverse of `serialized`: tensors are placeholders."""
    return [_deserialized(arg) for arg in args]


def _deserialized(arg: Any) -> Any:
    match arg:
        case ("TENSOR", shape, dtype):
            return placeholder(shape, dtype)
        case tuple() | list():
            return tuple(deserialized(arg))
        case _:
            return arg


def _serialized(arg: Any) -> Any:
    if isinstance(arg, Tensor):
        return ("TENSOR", serialized(arg.shape), str(arg.dtype))
    if isinstance(arg, (tuple, list)):
        return serialized(arg)
    if arg is None or isinstance(arg, (bool, int, float, str)):
        return arg
    value = getattr(arg, "value", None)
    if isinstance(value, (int, float)):
        return value
    message = f"{arg!r} is not an argument of templates and workloads"
    raise fail("api", message, help="numbers, texts, tuples and tensors are")
