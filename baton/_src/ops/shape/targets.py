"""The target shape of an operator: an argument in Relax, an attribute in Relay, a tensor in Relay's `dyn` operators."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.attrs import Attrs
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.global_info import VDevice
from baton._src.ir.op_def import OpCall
from baton._src.ir.tensor_info import Dim, PrimInfo, ShapeInfo, TensorInfo, TupleInfo
from baton._src.ops.dims import as_dims
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray, NDArray


def is_computed(given: object) -> bool:
    """Whether a builder is given an expression whose value only a run tells; a constant is as good as numbers."""
    return isinstance(given, GraphExpr) and not isinstance(getattr(given, "data", None), NDArray)


def as_shape(given: Dim | Sequence[Dim] | None) -> tuple[Dim, ...] | None:
    """An attribute that states a shape, if any; one number is the shape of a vector."""
    return (given,) if isinstance(given, (int, PrimExpr)) else None if given is None else tuple(given)


def target_dims(call: OpCall[Attrs], position: int, attribute: str) -> tuple[Dim, ...] | None:
    """The target dims; None if they are not known. `call.args[position]` may be absent: then the attribute says."""
    if position < len(call.args):
        return _from_argument(call, position)
    found = getattr(call.attrs, attribute, None)
    if found is None:
        call.fail(f"needs a target shape: an argument, or the attribute {attribute}", code="op-argument")
    return as_dims(found)


def _from_argument(call: OpCall[Attrs], position: int) -> tuple[Dim, ...] | None:
    found = call.args[position]
    if isinstance(found, ShapeInfo):
        return found.values
    if isinstance(found, TupleInfo) and all(isinstance(f, PrimInfo) for f in found.fields):
        values = [f.value for f in found.fields if isinstance(f, PrimInfo)]
        dims = [v for v in values if isinstance(v, (int, PrimExpr))]
        if any(isinstance(v, float) for v in values):
            call.fail(f"argument {position} must be a shape, got {tuple(values)}", code="op-argument")
        return None if len(dims) < len(values) else as_dims(dims)
    if isinstance(found, TensorInfo):
        value = call.values[position] if position < len(call.values) else None
        if value is not None:
            return as_dims(value)
        if found.shape is not None and len(found.shape) == 1 and isinstance(found.shape[0], int):
            return tuple(AnyDim() for _ in range(found.shape[0]))
        return None
    call.fail(f"argument {position} must be a shape, got {found}", code="op-argument")


def of_unknown_dims(call: OpCall[Attrs], position: int, dtype: DataType, vdevice: VDevice | None = None) -> TensorInfo:
    """A tensor whose shape is argument `position`, of which `target_dims` knows no dims: the variable that holds it."""
    found = call.args[position] if position < len(call.args) else None
    variable = found.var if isinstance(found, ShapeInfo) else None
    return TensorInfo(None, dtype, target_rank(call, position), vdevice, variable)


def target_rank(call: OpCall[Attrs], position: int) -> int:
    """How many dims a target of unknown dims has; -1 if unknown."""
    found = call.args[position] if position < len(call.args) else None
    return found.ndim if isinstance(found, ShapeInfo) else -1


def target_numbers(
    inputs: Sequence[AnyArray | tuple[int, ...]], position: int, attribute: Sequence[Dim] | None
) -> tuple[int, ...]:
    """The same for references: a tuple of ints, an array (`dyn`), or the attribute."""
    found = inputs[position] if position < len(inputs) else attribute or ()
    return tuple(_number(d) for d in as_dims(found))


def _number(dim: Dim) -> int:
    if isinstance(dim, int):
        return dim
    raise TypeError(f"the size {dim} is not a number")


def scalar_value(call: OpCall[Attrs], position: int) -> float | PrimExpr | None:
    """The number, possibly symbolic, that a scalar argument is; None if it is not known."""
    found = call.args[position]
    return found.value if isinstance(found, PrimInfo) else None


def whole_value(call: OpCall[Attrs], position: int) -> Dim | None:
    """The same of an integer; anything else with a fraction is an error of the call."""
    found = scalar_value(call, position)
    if isinstance(found, float):
        call.fail(f"{call.op.inputs[position].name} is an integer, got {found}", code="op-argument")
    return found
