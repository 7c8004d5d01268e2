"""Shapes and the shape heap: matching, making, and moving between tensors and shapes.

The codes of `match_shape` and `make_shape` follow the relax-ops-passes-vm facts, section 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from baton._src.runtime.executable.constants import Data
from baton._src.runtime.value_checks import Matcher
from baton._src.runtime.value_errors import describe, mismatch
from baton._src.runtime.value_info import ShapeValue
from baton._src.support.diagnostics import fail
from baton._src.values.prim import prim
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray


class MatchCode(IntEnum):
    """What `match_shape` does with one dim."""

    ASSERT_EQUAL_TO_IMM = 0
    STORE_TO_HEAP = 1
    NO_OP = 2
    ASSERT_EQUAL_TO_LOAD = 3


class MakeCode(IntEnum):
    """Where `make_shape` takes one dim from."""

    USE_IMM = 0
    LOAD_SHAPE = 1


def alloc_shape_heap(size: int) -> list[Any]:
    """Room for `size` shape variables, unbound."""
    return [None] * size


def alloc_shape_tensor(size: int) -> NDArray:
    """The same as a tensor of int64, which kernels can write computed dims to (VMShapeLower)."""
    return NDArray(np.zeros(size, np.int64))


def match_shape(value: Any, heap: Any, count: int, *codes: Any) -> tuple[()]:
    """For each dim a code and a number: compare with the number, store to that slot, ignore, or compare with that slot.

    The last argument is the context for error messages.
    """
    dims = value.shape if isinstance(value, NDArray) else value
    context = str(codes[2 * count]) if len(codes) > 2 * count else ""
    if not isinstance(dims, tuple):
        raise mismatch(context or "match_shape", "a tensor or a shape", describe(value))
    if len(dims) != count:
        raise mismatch(context or "match_shape", f"{count} dims", f"{len(dims)} dims, {tuple(dims)}", ValueError)
    for axis in range(count):
        _match_dim(dims[axis], MatchCode(codes[2 * axis]), codes[2 * axis + 1], heap, f"{context}: dimension {axis}")
    return ()


def _match_dim(found: int, code: MatchCode, number: int, heap: Any, place: str) -> None:
    match code:
        case MatchCode.STORE_TO_HEAP:
            heap[number] = found
        case MatchCode.ASSERT_EQUAL_TO_IMM if found != number:
            raise fail("value-mismatch", f"{place} is {found}, expected {number}".lstrip(": "))
        case MatchCode.ASSERT_EQUAL_TO_LOAD if found != heap[number]:
            raise fail("value-mismatch", f"{place} is {found}, expected {heap[number]}".lstrip(": "))
        case _:
            pass


def match_prim_value(value: Any, heap: Any, code: int, number: int, context: str = "") -> tuple[()]:
    """As `match_shape` for one prim value."""
    _match_dim(value, MatchCode(code), number, heap, context)
    return ()


def make_shape(heap: Any, count: int, *codes: int) -> ShapeTuple:
    """A shape of `count` dims, each a code and a number: the number itself, or what is in that slot."""
    return ShapeTuple([heap[codes[2 * i + 1]] if codes[2 * i] else codes[2 * i + 1] for i in range(count)])


def make_prim_value(heap: Any, code: int, number: int) -> Any:
    """As `make_shape` for one prim value."""
    return int(heap[number]) if code else number


def read_scalar(value: NDArray) -> Any:
    """The one element of a tensor as a prim value."""
    return prim(value.data.item(), value.dtype)


def eval_shape(heap: list[Any], exprs: Data) -> ShapeTuple:
    """A shape whose dims are expressions over the heap."""
    return ShapeTuple([f(heap) for f in exprs.functions])


def eval_prim(heap: list[Any], exprs: Data) -> Any:
    """A prim value that is an expression over the heap."""
    return exprs.functions[0](heap)


def load_slot(heap: list[Any], slot: int) -> Any:
    """The value of a shape variable."""
    return heap[slot]


def store_slots(heap: list[Any], first: int, *values: Any) -> tuple[()]:
    """Set shape variables: those a closure captured."""
    heap[first : first + len(values)] = values
    return ()


def shape_member(value: Any, index: int) -> int:
    """One dim of a shape."""
    if not isinstance(value, ShapeTuple) or not 0 <= index < len(value):
        raise mismatch("shape", f"a shape of more than {index} dims", describe(value))
    return value[index]


def shape_of(value: Any) -> ShapeTuple:
    """The shape of a tensor."""
    if not isinstance(value, NDArray):
        raise mismatch("shape_of", "a tensor", describe(value))
    return ShapeTuple(value.shape)


def tensor_to_shape(value: Any) -> ShapeTuple:
    """The shape written in a one-dimensional int64 tensor."""
    if not isinstance(value, NDArray) or value.ndim != 1 or value.dtype.kind not in ("int", "uint"):
        raise mismatch("tensor_to_shape", "a 1-D tensor of integers", describe(value))
    return ShapeTuple(value.data.tolist())


def read_sizes(heap: list[Any], info: ShapeValue, facts: Data, tensor: Any) -> tuple[()]:
    """Cast the shape that a tensor holds to one of shape variables. `facts` is [what is checked, slot names]."""
    slots = facts.remembered.get("slots")
    if slots is None:
        slots = facts.remembered["slots"] = [dim[1] for dim in info.dims or ()]
    data = tensor.data
    if data.dtype.kind == "i" and data.size == len(slots):
        sizes = [data.item()] if len(slots) == 1 else data.reshape(-1).tolist()
        if not any(heap[slot] is not None for slot in slots):
            for slot, size in zip(slots, sizes):
                heap[slot] = size
            return ()
    place, names = facts.content
    Matcher(heap, names).check(tensor_to_shape(tensor), info, place)
    return ()


def shape_to_tensor(value: Sequence[int]) -> NDArray:
    """A shape as a one-dimensional int64 tensor."""
    if not isinstance(value, ShapeTuple):
        raise mismatch("shape_to_tensor", "a shape", describe(value))
    return NDArray(np.array(value, np.int64).reshape(len(value)))


TABLE: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.alloc_shape_heap": alloc_shape_heap,
    "vm.builtin.alloc_shape_tensor": alloc_shape_tensor,
    "vm.builtin.match_shape": match_shape,
    "vm.builtin.match_prim_value": match_prim_value,
    "vm.builtin.make_shape": make_shape,
    "vm.builtin.make_prim_value": make_prim_value,
    "vm.builtin.read_scalar": read_scalar,
    "vm.builtin.eval_shape": eval_shape,
    "vm.builtin.eval_prim": eval_prim,
    "vm.builtin.load_slot": load_slot,
    "vm.builtin.store_slots": store_slots,
    "vm.builtin.shape_member": shape_member,
    "vm.builtin.shape_of": shape_of,
    "vm.builtin.tensor_to_shape": tensor_to_shape,
    "vm.builtin.read_sizes": read_sizes,
    "vm.builtin.shape_to_tensor": shape_to_tensor,
    "relax.run.shape_to_tensor": shape_to_tensor,
}
