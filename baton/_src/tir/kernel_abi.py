"""The C signature of a kernel: what a caller passes, in order.

First the PrimFunc's params (a handle is the data pointer of its buffer, a scalar has its own type); then every shape
variable that occurs in a param buffer's shape, strides or offset and is no param, as int64, in order of first
appearance. Buffers are compact and row-major unless they say otherwise. There is no return value.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.support.dataclass import dataclass
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import HANDLE, INT64, DataType


@dataclass(frozen=True, slots=True)
class KernelParam:
    """One argument. `buffer` for data pointers; `is_shape` for shape variables that the PrimFunc does not list.

    `dtype` is the type in the C signature; the variable of a shape argument may be narrower (int32): the kernel
    converts it on entry.
    """

    var: Var
    dtype: DataType
    buffer: Buffer | None = None
    is_shape: bool = False


@dataclass(frozen=True, slots=True)
class KernelABI:
    """All arguments of a kernel, in order."""

    params: tuple[KernelParam, ...]

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers passed, in order."""
        return tuple(p.buffer for p in self.params if p.buffer is not None)


def kernel_abi(func: PrimFunc) -> KernelABI:
    """The signature of `func`."""
    params = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        params.append(KernelParam(param, HANDLE if buffer is not None else param.dtype, buffer))
    params += [KernelParam(var, INT64, is_shape=True) for var in implicit_shape_vars(func)]
    return KernelABI(tuple(params))


def implicit_shape_vars(func: PrimFunc) -> list[Var]:
    """The variables of param buffers' shapes, strides and offsets that are no params, by first appearance."""
    known: set[Var] = set(func.params)
    found: list[Var] = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is None:
            continue
        offset = () if buffer.elem_offset is None else (buffer.elem_offset,)
        for expr in (*buffer.shape, *buffer.strides, *offset):
            for var in _vars(expr):
                if var not in known:
                    known.add(var)
                    found.append(var)
    return found


def _vars(expr: PrimExpr) -> list[Var]:
    if isinstance(expr, Var):
        return [expr]
    return [n for n in post_order(expr) if isinstance(n, Var)]


def takes_tensors(func: PrimFunc) -> bool:
    """Whether it can be called from outside: pointers are for other kernels to pass."""
    return all(p in func.buffer_map or p.dtype != HANDLE for p in func.params)
