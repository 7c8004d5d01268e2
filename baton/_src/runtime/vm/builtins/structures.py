"""Tuples, algebraic data types, references, null, and the headers of tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.runtime.value_errors import describe, mismatch
from baton._src.support.diagnostics import fail
from baton._src.values.adt import ADT, RefCell
from baton._src.values.prim import prim
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray

_DTYPE_CODES = {"int": 0, "uint": 1, "bool": 1, "float": 2, "handle": 3, "bfloat": 4}


def make_tuple(*values: Any) -> tuple[Any, ...]:
    """A tuple."""
    return values


def tuple_getitem(value: Any, index: int) -> Any:
    """One field of a tuple."""
    if not isinstance(value, tuple) or isinstance(value, ShapeTuple):
        raise mismatch("tuple field", "a tuple", describe(value))
    if not 0 <= index < len(value):
        raise fail("value-mismatch", f"a tuple of {len(value)} values has no field {index}")
    return value[index]


def tuple_reset_item(value: tuple[Any, ...], index: int) -> tuple[()]:
    """Marks that a field is no longer needed."""
    return ()


def null_value() -> None:
    """The null value."""


def identity(value: Any) -> Any:
    """The value itself."""
    return value


def make_adt(tag: int, name: str, *fields: Any) -> ADT:
    """Constructor `name`, number `tag` of its type, applied to `fields`."""
    return ADT(tag, fields, name)


def adt_tag(value: Any) -> int:
    """Which constructor made the value."""
    if not isinstance(value, ADT):
        raise mismatch("match", "a value of an algebraic data type", describe(value))
    return value.tag


def adt_field(value: ADT, index: int) -> Any:
    """One field of a constructor application."""
    return value.fields[index]


def match_failed(text: str, value: Any = None) -> Any:
    """Raise the error that no clause of a match fits."""
    raise fail("match-failed", f"no clause of the match fits {describe(value)}{': ' if text else ''}{text}")


def undecided(operator: str, *operands: Any) -> Any:
    """Raise the error that an operator runs whose operands had no known type when it was compiled."""
    given = ", ".join(describe(v) for v in operands)
    raise fail("operator-undecided", f"{operator} was compiled without the types of its operands, now {given}")


def ref_create(value: Any) -> RefCell:
    """A new mutable cell."""
    return RefCell(value)


def ref_read(cell: Any) -> Any:
    """The content of the cell."""
    if not isinstance(cell, RefCell):
        raise mismatch("ref_read", "a reference", describe(cell))
    return cell.value


def ref_write(cell: Any, value: Any) -> tuple[()]:
    """Put a value into the cell."""
    if not isinstance(cell, RefCell):
        raise mismatch("ref_write", "a reference", describe(cell))
    cell.value = value
    return ()


def _axis(tensor: NDArray, axis: int) -> int:
    if not 0 <= axis < tensor.ndim:
        raise fail("value-mismatch", f"axis {axis} is out of range for {describe(tensor)}")
    return axis


def _header(dtype: str, read: Callable[[NDArray], int]) -> Callable[[NDArray], Any]:
    """A field of a tensor's header, as a prim value of the field's dtype."""
    return lambda tensor: prim(read(tensor), dtype)


TABLE: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.make_tuple": make_tuple,
    "vm.builtin.tuple_getitem": tuple_getitem,
    "vm.builtin.tuple_reset_item": tuple_reset_item,
    "vm.builtin.null_value": null_value,
    "vm.builtin.identity": identity,
    "vm.builtin.make_adt": make_adt,
    "vm.builtin.adt_tag": adt_tag,
    "vm.builtin.adt_field": adt_field,
    "vm.builtin.match_failed": match_failed,
    "vm.builtin.undecided": undecided,
    "vm.builtin.ref_create": ref_create,
    "vm.builtin.ref_read": ref_read,
    "vm.builtin.ref_write": ref_write,
    "vm.builtin.tensor_ndim": _header("int32", lambda t: t.ndim),
    "vm.builtin.tensor_dtype_code": _header("uint8", lambda t: _DTYPE_CODES[t.dtype.kind]),
    "vm.builtin.tensor_dtype_bits": _header("uint8", lambda t: t.dtype.bits),
    "vm.builtin.tensor_dtype_lanes": _header("uint16", lambda t: 1),
    "vm.builtin.tensor_shape_i": lambda t, axis: t.shape[_axis(t, axis)],
    "vm.builtin.tensor_stride_i": lambda t, axis: t.data.strides[_axis(t, axis)] // t.data.itemsize,
    "vm.builtin.tensor_byte_offset": _header("uint64", lambda t: 0),
    "vm.builtin.tensor_elem_offset": _header("uint64", lambda t: 0),
}
