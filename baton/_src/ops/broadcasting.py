"""Shapes of elementwise operators: alignment from the right, 1 gives way, contradictions are errors.

What cannot be decided: in Relay (`?`) only that dim is unknown; in Relax the shape is dropped and the rank kept.
Source: facts relax-ops-passes-vm §1 (shared shape rules), relay-language §1 (BroadcastRel).
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.attrs import Attrs
from baton._src.ir.global_info import VDevice
from baton._src.ir.op_def import OpCall
from baton._src.ir.tensor_info import Dim, Info, PrimInfo, TensorInfo
from baton._src.ops.dims import DimMath, is_any, show_shape
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import VOID, DataType

Shape = tuple[Dim, ...]


def operand(call: OpCall[Attrs], index: int) -> TensorInfo:
    """Argument `index` of an elementwise operator: a tensor, or a host scalar, which counts as a tensor of shape ()."""
    found: Info = call.args[index]
    if isinstance(found, PrimInfo):
        return TensorInfo((), found.dtype)
    return call.tensor(index)


def same_dtype(call: OpCall[Attrs], operands: Sequence[TensorInfo]) -> DataType:
    """The one dtype of all operands; unknown if one is unknown and none contradict; an error if two differ."""
    known = [x.dtype for x in operands if not x.dtype.is_void]
    for other in known[1:]:
        if other != known[0]:
            call.fail(
                f"operands must have the same dtype, got {known[0]} and {other}",
                code="op-dtype",
                help=f'cast one of them: astype(x, "{known[0]}")',
            )
    return known[0] if len(known) == len(operands) and known else VOID


def same_vdevice(call: OpCall[Attrs], operands: Sequence[TensorInfo]) -> VDevice | None:
    """The device of all operands that name one; an error if two differ."""
    found: VDevice | None = None
    for x in operands:
        if x.vdevice is None:
            continue
        if found is not None and found is not x.vdevice and found != x.vdevice:
            call.fail(f"operands are on different devices:  {found} and {x.vdevice}", code="op-device")
        found = x.vdevice
    return found


def broadcast_shapes(call: OpCall[Attrs], a: Shape, b: Shape) -> Shape | None:
    """The common shape; None if undecided; an error if two dims contradict each other."""
    math = DimMath(call.prover)
    if len(a) < len(b):
        a, b = b, a
    result = list(a)
    undecided = False
    offset = len(a) - len(b)
    for position, (left, right) in enumerate(zip(a[offset:], b), start=offset):
        dim = _broadcast_dim(math, left, right)
        if dim is None:
            undecided = True
        elif dim is False:
            call.fail(
                f"shapes {show_shape(a)} and {show_shape(b)} do not broadcast: {left} against {right}",
                help="dims are aligned from the right; each pair must be equal, or one of them 1",
            )
        else:
            result[position] = dim
    return None if undecided else tuple(result)


def _broadcast_dim(math: DimMath, a: Dim, b: Dim) -> Dim | None:
    """The common dim; None if undecided; False if contradictory."""
    if isinstance(a, int) and a == 1:
        return b
    if isinstance(b, int) and b == 1:
        return a
    if is_any(a) or is_any(b):
        known = b if is_any(a) else a
        return known if isinstance(known, int) else AnyDim()
    same = math.equal(a, b)
    if same:
        return math.unify(a, b)
    if same is None:
        return None
    return False if isinstance(a, int) and isinstance(b, int) else None


def broadcast(call: OpCall[Attrs], operands: Sequence[TensorInfo], dtype: DataType) -> TensorInfo:
    """What is known of an elementwise result with elements of `dtype`."""
    device = same_vdevice(call, operands)
    variables = {id(x.shape_var): x.shape_var for x in operands}
    if len(variables) == 1 and operands[0].shape_var is not None:
        first = operands[0]
        return TensorInfo(first.shape, dtype, first.ndim, device, first.shape_var)
    if any(x.ndim < 0 for x in operands):
        return TensorInfo(None, dtype, -1, device)
    rank = max(x.ndim for x in operands)
    shape: Shape | None = ()
    for x in operands:
        if x.shape is None or shape is None:
            shape = None
            break
        shape = broadcast_shapes(call, shape, x.shape)
    return TensorInfo(shape, dtype, rank, device)


def infer_broadcast(call: OpCall[Attrs]) -> Info:
    """The rule of arithmetic: operands of one dtype, the result has it too; two host scalars give a host scalar."""
    if all(isinstance(a, PrimInfo) for a in call.args):
        operands = [operand(call, i) for i in range(len(call.args))]
        return PrimInfo(same_dtype(call, operands))
    operands = [operand(call, i) for i in range(len(call.args))]
    return broadcast(call, operands, same_dtype(call, operands))


def infer_comparison(call: OpCall[Attrs]) -> Info:
    """As arithmetic, with a bool result."""
    found = infer_broadcast(call)
    bool_ = DataType("bool")
    if isinstance(found, PrimInfo):
        return PrimInfo(bool_)
    assert isinstance(found, TensorInfo)
    return TensorInfo(found.shape, bool_, found.ndim, found.vdevice, found.shape_var)


def like(x: TensorInfo, dtype: DataType | None = None) -> TensorInfo:
    """The same shape and device, possibly another dtype."""
    return x if dtype is None else TensorInfo(x.shape, dtype, x.ndim, x.vdevice, x.shape_var)
