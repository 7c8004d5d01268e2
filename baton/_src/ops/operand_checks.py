"""What operators require of their operands: rank, dtype, or a whole type. What is not known is not refused."""

from __future__ import annotations

from baton._src.ir.attrs import Attrs
from baton._src.ir.op_def import OpCall
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops.broadcasting import operand
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.layout_names import AxisOrder
from baton._src.values.dtype import DataType


def check_scalar(call: OpCall[Attrs], position: int) -> None:
    """An operand with axes where a scalar belongs is an error."""
    given = operand(call, position)
    if given.ndim > 0:
        call.fail(f"{call.op.inputs[position].name} must be a scalar, got {show_shape(given.shape, given.ndim)}")


def check_ranks(call: OpCall[Attrs], *ranks: int | None) -> None:
    """The first operands must have these ranks; None stands for any."""
    for position, rank in enumerate(ranks):
        if rank is not None and (given := call.tensor(position)).ndim not in (-1, rank):
            name = call.op.inputs[position].name
            call.fail(f"{name} must have rank {rank}, got {show_shape(given.shape, given.ndim)}")


def check_layout_rank(call: OpCall[Attrs], position: int, order: AxisOrder, attribute: str) -> None:
    """An operand must have as many axes as its layout, which the attribute states."""
    given = call.tensor(position)
    if given.ndim not in (-1, order.rank):
        name = call.op.inputs[position].name
        call.fail(
            f"{name} has rank {given.ndim}, but its layout {order.name} has {order.rank} axes",
            help=f"reshape it, or say how it lies: {attribute}",
        )


def check_floats(call: OpCall[Attrs], *positions: int) -> None:
    """Operands of integers or bools where floats belong are an error."""
    for position in positions:
        given = operand(call, position)
        if not given.dtype.is_void and not given.dtype.is_float:
            name = call.op.inputs[position].name
            call.fail(
                f"{name} must hold floating-point elements, got {given.dtype}", code="op-dtype", help="astype first"
            )


def check_integers(call: OpCall[Attrs], *positions: int) -> None:
    """Operands of floats or bools where integers belong are an error."""
    for position in positions:
        given = operand(call, position)
        if not given.dtype.is_void and not given.dtype.is_int:
            name = call.op.inputs[position].name
            call.fail(f"{name} must hold integers, got {given.dtype}", code="op-dtype", help="astype first")


def check_dtype(call: OpCall[Attrs], position: int, wanted: DataType) -> None:
    """An operand of another dtype than the data's is an error."""
    given = call.tensor(position).dtype
    if not given.is_void and not wanted.is_void and given != wanted:
        name = call.op.inputs[position].name
        call.fail(f"{name} must have the data's dtype {wanted}, got {given}", code="op-dtype")


def check_operand(call: OpCall[Attrs], position: int, wanted: Info) -> None:
    """An operand of another shape or dtype than `wanted`, as far as that is certain, is an error."""
    check_info(call, call.op.inputs[position].name, call.tensor(position), wanted)


def check_info(call: OpCall[Attrs], name: str, given: Info, wanted: Info) -> None:
    """The same of any tensor among the operands; `name` is what errors call it."""
    assert isinstance(given, TensorInfo)
    assert isinstance(wanted, TensorInfo)
    prove = DimMath(call.prover).equal
    fits = -1 in (given.ndim, wanted.ndim) or given.ndim == wanted.ndim
    if fits and given.shape is not None and wanted.shape is not None:
        fits = all(prove(a, b) is not False for a, b in zip(given.shape, wanted.shape))
    if not fits:
        shapes = [show_shape(info.shape, info.ndim) for info in (given, wanted)]
        call.fail(f"{name} has shape {shapes[0]}, the data needs {shapes[1]}")
    if not given.dtype.is_void and not wanted.dtype.is_void and given.dtype != wanted.dtype:
        call.fail(f"{name} is {given.dtype}, the data needs {wanted.dtype}", code="op-dtype")
