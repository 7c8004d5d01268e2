"""Interpret the memory dialect: storages are bytes, tensors are views of them.

Uninitialised memory, and memory of a killed storage, holds a pattern that makes results wrong, so that reads before
initialisation or after the storage's end are noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.types import TensorType
from baton._src.relay.nodes import Call
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray


class Storage:
    """A piece of memory."""

    __slots__ = ("memory",)

    def __init__(self, size: int) -> None:
        self.memory = np.full(size, 0xAB, np.uint8)

    def kill(self) -> None:
        """End the storage's life: its memory is overwritten by a pattern."""
        self.memory.fill(0xCD)


def is_memory_call(node: GraphExpr, *names: str) -> bool:
    """Whether `node` calls an operator of the dialect (one of `names`, if any are given)."""
    if not isinstance(node, Call) or not isinstance(node.op, Op):
        return False
    return node.op.name in (names or MEMORY_OPS)


def call_memory(op: Op, args: Sequence[Any], attrs: Any, span: Any) -> Any:
    """The value of calling an operator of the dialect; storages and tensors among `args` are changed in place."""
    return _MEANING[op.name](list(args), attrs, span)


def flat(value: Any) -> list[Any]:
    """The tensors in a value, from left to right."""
    found: list[Any] = []
    work = [value]
    while work:
        top = work.pop()
        if isinstance(top, (tuple, list)):
            work.extend(reversed(top))
        else:
            found.append(top)
    return found


def _alloc_storage(args: list[Any], attrs: Any, span: Any) -> Storage:
    return Storage(int(args[0].data))


def _alloc_tensor(args: list[Any], attrs: Any, span: Any) -> NDArray:
    storage, offset, shape = args[0], int(args[1].data), tuple(int(d) for d in args[2].data)
    dtype = DataType(attrs.dtype).numpy
    end = offset + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if offset < 0 or end > storage.memory.size:
        message = f"a {attrs.dtype} tensor of shape {shape} at {offset} does not fit into {storage.memory.size} bytes"
        raise fail("relay-memory", message, span=span)
    for found, known in zip(shape, attrs.assert_shape or ()):
        if known not in (-1, found):
            raise fail("relay-memory", f"the shape is {shape}, {attrs.assert_shape} was asserted", span=span)
    return NDArray(storage.memory[offset:end].view(dtype).reshape(shape))


def _kill(args: list[Any], attrs: Any, span: Any) -> tuple[()]:
    if isinstance(args[0], Storage):  # a tensor's memory may be another's by now
        args[0].kill()
    return ()


def _shape_of(args: list[Any], attrs: Any, span: Any) -> NDArray:
    return NDArray(np.asarray(args[0].shape, DataType(attrs.dtype).numpy))


def _invoke(args: list[Any], attrs: Any, span: Any) -> tuple[()]:
    function, inputs, outputs = args
    _fill(outputs, flat(function(*inputs)), span)
    return ()


def _fill(outputs: Sequence[NDArray], found: Sequence[NDArray], span: Any) -> None:
    if len(outputs) != len(found):
        raise fail("relay-memory", f"{len(found)} results for {len(outputs)} outputs", span=span)
    for target, result in zip(outputs, found):
        if target.shape != result.shape or target.dtype != result.dtype:
            wanted, given = f"{target.shape}, {target.dtype}", f"{result.shape}, {result.dtype}"
            raise fail("relay-memory", f"a result of ({given}) does not go into a tensor of ({wanted})", span=span)
        np.copyto(target.data, result.data)


def _shape_func(args: list[Any], attrs: Any, span: Any) -> tuple[()]:
    """Where only an input's shape is given, any elements will do: zeros."""
    function, inputs, outputs = args
    given = []
    for value, param, is_input in zip(inputs, function.function.params, attrs.is_inputs):
        if not is_input:
            type_: Any = param.type_annotation or param.checked_type
            assert isinstance(type_, TensorType)
            value = NDArray(np.zeros(tuple(int(d) for d in value.data), DataType(type_.dtype).numpy))
        given.append(value)
    with np.errstate(all="ignore"):
        results = flat(function(*given))
    shapes = [NDArray(np.asarray(r.shape, t.data.dtype)) for r, t in zip(results, outputs)]
    _fill(outputs, shapes, span)
    return ()


def _reshape_tensor(args: list[Any], attrs: Any, span: Any) -> NDArray:
    return NDArray(args[0].data.reshape(tuple(int(d) for d in args[1].data)))


_MEANING: Mapping[str, Callable[[list[Any], Any, Any], Any]] = {
    "memory.alloc_storage": _alloc_storage,
    "memory.alloc_tensor": _alloc_tensor,
    "memory.kill": _kill,
    "vm.shape_of": _shape_of,
    "vm.invoke_tvm_op": _invoke,
    "vm.shape_func": _shape_func,
    "vm.reshape_tensor": _reshape_tensor,
}

MEMORY_OPS = frozenset(_MEANING)
"""The names of the dialect's operators."""
