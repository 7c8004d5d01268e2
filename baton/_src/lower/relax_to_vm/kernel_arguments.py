"""How the arguments of a `call_tir` become the C arguments of its kernel."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import substitute
from baton._src.lower.relax_to_vm.abstract_values import KernelCall
from baton._src.lower.relax_to_vm.dims import to_dim_expr
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.runtime.native.kernel_function import KernelSignature
from baton._src.runtime.value_info import PrimScalar, TensorValue
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import InternalError
from baton._src.tir.analysis.written_buffers import written_params
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import Cast, IntImm, Var, literal
from baton._src.tir.kernel_abi import KernelABI, kernel_abi
from baton._src.tir.operators import multiply
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import INT64, DataType


@dataclass(frozen=True)
class CArguments:
    """In the order of the C signature: entry k >= 0 is tensor k (arguments, then fresh outputs), entry k < 0 is
    `scalars[-k - 1]`, an expression over the caller's shape variables."""

    order: tuple[int, ...]
    scalars: tuple[PrimExpr, ...]


def passed_dims(call: KernelCall) -> list[tuple[PrimExpr, ...]]:
    """The dims of the tensors passed: the arguments, then the outputs that get fresh memory."""
    fresh = [o for o, place in zip(call.outputs, call.inplace) if place < 0]
    return [tuple(info.shape.values) for info in (*call.arg_infos, *fresh)]


def c_arguments(call: KernelCall, known: dict[PrimFunc, KernelABI]) -> CArguments:
    """Match tensors and integers with the kernel's params, and solve its shape variables for the caller's dims.

    `known` remembers the signatures of kernels.
    """
    dims = passed_dims(call)
    abi = known.get(call.function)
    if abi is None:
        abi = known[call.function] = kernel_abi(call.function)
    solved: dict[Var, PrimExpr] = {}
    order: list[int] = []
    scalars: list[PrimExpr] = []
    trailing = list(call.scalars)
    tensor = 0
    for param in abi.params:
        if param.buffer is not None:
            if tensor >= len(dims) or len(param.buffer.shape) != len(dims[tensor]):
                raise _unfit(call, f"tensor {tensor} does not fit {param.buffer.name}")
            for own, given in zip(param.buffer.shape, dims[tensor]):
                if isinstance(own, Var):
                    solved.setdefault(own, given)
            order.append(tensor)
            tensor += 1
        else:
            if not param.is_shape:
                if not trailing:
                    raise _unfit(call, f"{param.var.name} has no value")
                solved[param.var] = trailing.pop(0)
            if param.var not in solved:
                raise _unfit(call, f"shape variable {param.var.name} cannot be read off the tensors")
            scalars.append(solved[param.var])
            order.append(-len(scalars))
    if tensor != len(dims) or trailing:
        raise _unfit(call, f"{len(dims)} tensors and {len(call.scalars)} integers are given")
    return CArguments(tuple(order), tuple(scalars))


def fits(function: PrimFunc, tensors: Sequence[TensorStructInfo], integers: Sequence[PrimExpr]) -> bool:
    """Whether the kernel is certainly made for these tensors (arguments, then fresh outputs) and integers.

    If not, the caller has to check the tensors at run time: a native entry passes bare addresses.
    """
    solved: dict[Var, PrimExpr] = {}
    pairs: list[tuple[PrimExpr, PrimExpr]] = []
    left, trailing = list(tensors), list(integers)
    for param in kernel_abi(function).params:
        if param.buffer is not None:
            if not left or left[0].dtype != param.buffer.dtype or left[0].ndim != len(param.buffer.shape):
                return False
            pairs += zip(param.buffer.shape, left.pop(0).shape.values)
        elif not param.is_shape:
            if not trailing or not _is_within(param.var.dtype, trailing[0]):
                return False
            solved[param.var] = trailing.pop(0)
    for own, given in pairs:
        if isinstance(own, Var):
            solved.setdefault(own, given)
    return not left and not trailing and all(_is_same(in_terms_of(own, solved), given) for own, given in pairs)


def _is_within(dtype: DataType, given: PrimExpr) -> bool:
    """Whether an integer is certainly one that a parameter of `dtype` holds: a native entry would cut it off."""
    if isinstance(given, IntImm) and dtype.is_int:
        return dtype.int_range[0] <= given.value <= dtype.int_range[1]
    return given.dtype == dtype


def _is_same(own: PrimExpr, given: PrimExpr) -> bool:
    if isinstance(own, IntImm) and isinstance(given, IntImm):
        return own.value == given.value
    return own is given or Analyzer().equal(own, given) is True


def _unfit(call: KernelCall, why: str) -> InternalError:
    return InternalError(f"call of kernel {call.kernel.name_hint} does not fit its signature: {why}")


def kernel_signature(symbol: str, function: PrimFunc) -> KernelSignature:
    """What the runtime needs to call the kernel on tensors."""
    abi = kernel_abi(function)
    slots = scalar_slots(abi)
    params: list[TensorValue | PrimScalar] = []
    stored = written_params(function)
    written = [place for place, param in enumerate(abi.params) if param.var in stored]
    for param in abi.params:
        if param.buffer is not None:
            shape = tuple(to_dim_expr(d, slots) for d in param.buffer.shape)
            params.append(TensorValue(str(param.buffer.dtype), len(shape), shape))
        elif not param.is_shape:
            params.append(PrimScalar(str(param.dtype), ["v", slots[param.var]]))
    names = [p.buffer.name if p.buffer is not None else p.var.name for p in abi.params if not p.is_shape]
    trailing = tuple(slots[p.var] for p in abi.params if p.is_shape)
    return KernelSignature(symbol, tuple(params), tuple(v.name for v in slots), trailing, tuple(names), tuple(written))


def scalar_slots(abi: KernelABI) -> dict[Var, int]:
    """The slots of a kernel's scalars and shape variables in its `KernelSignature`."""
    scalars = [param.var for param in abi.params if param.buffer is None]
    return {var: slot for slot, var in enumerate(scalars)}


def known_dims(dims: Sequence[PrimExpr]) -> tuple[int, ...] | None:
    """The dims as ints, if they all are."""
    values = [d.value for d in dims if isinstance(d, IntImm)]
    return tuple(values) if len(values) == len(dims) else None


def in_terms_of(expr: PrimExpr, values: dict[Var, PrimExpr]) -> PrimExpr:
    """`expr` with its variables replaced."""
    found: PrimExpr = substitute(expr, values) if values else expr
    return found


def byte_count(info: TensorStructInfo) -> int | PrimExpr:
    """The bytes of a tensor of known dims."""
    dims = known_dims(info.shape.values)
    if dims is not None:
        total = info.dtype.itemsize
        for dim in dims:
            total *= dim
        return total
    size: PrimExpr = literal(info.dtype.itemsize, INT64)
    for dim in info.shape.values:
        size = multiply(size, dim if dim.dtype == INT64 else Cast(INT64, dim))
    return size
