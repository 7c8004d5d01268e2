"""Computing with shapes while importing: what models compute of the sizes of tensors stays sizes.

Each row evaluates an operator on small tensors of whole numbers, some of them symbolic; it gives None where it cannot,
and the ordinary converter takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.size_arithmetic import (
    Undecided,
    divide,
    elementwise,
    is_symbolic,
    maximum,
    minimum,
    product,
)
from baton._src.frontends.tflite.node import Node
from baton._src.values.tensor import AnyArray

Contents = Sequence[AnyArray]
Folder = Callable[[Node, Contents], AnyArray | None]


def _arithmetic(function: Callable[..., Any]) -> Folder:
    return lambda node, x: elementwise(function, x)


def _stack(node: Node, x: Contents) -> AnyArray:
    return np.stack(x, int(node.option("Axis", 0)))


def _concatenate(node: Node, x: Contents) -> AnyArray:
    return np.concatenate(x, int(node.option("Axis", 0)))


def _reshape(node: Node, x: Contents) -> AnyArray | None:
    if len(x) > 1 and is_symbolic(x[1]):
        return None
    shape = [int(d) for d in (x[1] if len(x) > 1 else node.option("NewShape", ()))]
    return x[0].reshape(shape)


def _expand_dims(node: Node, x: Contents) -> AnyArray:
    return np.expand_dims(x[0], int(x[1]))


def _squeeze(node: Node, x: Contents) -> AnyArray:
    return np.squeeze(x[0], tuple(node.option("SqueezeDims", ())) or None)


def _gather(node: Node, x: Contents) -> AnyArray | None:
    return None if is_symbolic(x[1]) else np.take(x[0], x[1].astype(np.int64), axis=int(node.option("Axis", 0)))


def _slice(node: Node, x: Contents) -> AnyArray | None:
    if is_symbolic(x[1]) or is_symbolic(x[2]) or x[0].ndim != 1:
        return None
    begin, size = int(x[1][0]), int(x[2][0])
    return x[0][begin : None if size == -1 else begin + size]


def _strided_slice(node: Node, x: Contents) -> AnyArray | None:
    """Of a vector, which has one place in the operands."""
    if x[0].ndim != 1 or len(x[1]) != 1 or any(map(is_symbolic, x[1:])):
        return None
    if node.option("NewAxisMask", 0) or node.option("EllipsisMask", 0):
        return None
    begin, end, step = (int(bound[0]) for bound in x[1:])
    if node.option("ShrinkAxisMask", 0):
        return np.array(x[0][begin], dtype=object)
    first = None if node.option("BeginMask", 0) else begin
    return x[0][first : None if node.option("EndMask", 0) else end : step]


def _product(node: Node, x: Contents) -> AnyArray | None:
    if x[0].ndim != 1:
        return None
    found = np.empty((1,) if node.option("KeepDims", False) else (), dtype=object)
    found[...] = product(list(x[0]))
    return found


def _cast(node: Node, x: Contents) -> AnyArray | None:
    return x[0] if node.results[0].dtype.is_int else None


FOLDERS: dict[str, Folder] = {
    "ADD": _arithmetic(lambda p, q: p + q), "SUB": _arithmetic(lambda p, q: p - q),
    "MUL": _arithmetic(lambda p, q: p * q), "DIV": _arithmetic(divide), "FLOOR_DIV": _arithmetic(lambda p, q: p // q),
    "MAXIMUM": _arithmetic(maximum), "MINIMUM": _arithmetic(minimum), "PACK": _stack, "CONCATENATION": _concatenate,
    "RESHAPE": _reshape, "EXPAND_DIMS": _expand_dims, "SQUEEZE": _squeeze, "GATHER": _gather, "SLICE": _slice,
    "STRIDED_SLICE": _strided_slice, "REDUCE_PROD": _product, "CAST": _cast,
}  # fmt: skip


def fold_sizes(node: Node) -> AnyArray | None:
    """The result of an operator on known whole numbers, at least one of them symbolic; None where it cannot tell."""
    folder = FOLDERS.get(node.op.name)
    if folder is None or node.option("FusedActivationFunction", 0):
        return None
    contents = [None if v is None else v.contents() for v in node.operands]
    known = [c for c in contents if c is not None]
    if len(known) < len(contents) or not any(map(is_symbolic, known)):
        return None
    try:
        return folder(node, known)
    except (Undecided, IndexError, ValueError, ZeroDivisionError):
        return None  # the converter tells what is wrong
