"""Evaluate operators on constants, by their NumPy reference, without code generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ir.attrs import NO_ATTRS
from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray


def result_bytes(info: Info) -> int | None:
    """The size of a result; None where it is not known."""
    if isinstance(info, TupleInfo):
        sizes = [result_bytes(f) for f in info.fields]
        return None if None in sizes else sum(s for s in sizes if s is not None)
    if not isinstance(info, TensorInfo) or not info.is_static or info.dtype.is_void:
        return None
    elements = 1
    for dim in info.shape or ():
        assert isinstance(dim, int)  # it is static
        elements *= dim
    return elements * info.dtype.itemsize


def operand_bytes(operands: Sequence[Any]) -> int:
    """The size of the arrays among operands."""
    total = 0
    for operand in operands:
        if isinstance(operand, np.ndarray):
            total += operand.nbytes
        elif isinstance(operand, tuple):
            total += operand_bytes(operand)
    return total


def evaluate(definition: OpDef[Any], operands: Sequence[Any], attrs: Any, out: Info) -> Any:
    """The operator applied to arrays (tuples of them; ints for shapes): an NDArray or a tuple of them, of the dtypes
    that `out` says; None if the operator has no NumPy meaning or is not a function of its operands, or fails on them
    (an index out of range): the call fails when it runs, if it ever does."""
    reference = definition.reference
    if isinstance(reference, NotApplicable) or not definition.pure or definition.stateful:
        return None
    try:
        with np.errstate(all="ignore"):
            found = reference(tuple(operands), NO_ATTRS if attrs is None else attrs)
    except (ValueError, TypeError, IndexError, DiagnosticError):
        return None
    return _as_declared(found, out)


def _as_declared(found: Any, out: Info) -> Any:
    """The result in the dtype and shape declared; None if it contradicts them."""
    if isinstance(out, TupleInfo):
        if not isinstance(found, (tuple, list)) or len(found) != len(out.fields):
            return None
        parts = tuple(_as_declared(f, o) for f, o in zip(found, out.fields))
        return None if any(p is None for p in parts) else parts
    if not isinstance(out, TensorInfo):
        return None
    array = np.asarray(found)
    if out.is_static and array.shape != out.shape:
        return None
    dtype: DataType = out.dtype
    wanted = array if dtype.is_void else array.astype(dtype.numpy, copy=False)
    return NDArray(np.asarray(wanted, order="C"))
