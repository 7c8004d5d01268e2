"""The abstract value of a variable during lowering: a register, or something known at compile time.

Tuples, projections and copies cost nothing this way; the result of a kernel is *pending* until its run of kernels is
emitted as one native call.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.relax.nodes import Constant, DataTypeImm, ExternFunc, GlobalVar, PrimValue, ShapeExpr, StringImm
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.spans import Span
from baton._src.tir.prim_func import PrimFunc


@dataclass(eq=False, slots=True)
class InRegister:
    """A value at run time. `info` is its StructInfo, if it is a tensor."""

    register: int
    info: Any = None


@dataclass(eq=False, slots=True)
class Fields:
    """A tuple whose fields are known separately; it is built at run time only where it is needed as a whole."""

    fields: tuple[Value, ...]


@dataclass(eq=False, slots=True)
class Literal:
    """An immutable literal, materialised where it is needed."""

    expr: Constant | ShapeExpr | PrimValue | StringImm | DataTypeImm | GlobalVar | ExternFunc


@dataclass(eq=False, slots=True)
class Pending:
    """Output `index` of a kernel call that is not emitted yet; once it is, `emitted` replaces it."""

    node: KernelCall
    index: int
    emitted: InRegister | None = None

    @property
    def info(self) -> TensorStructInfo:
        return self.node.outputs[self.index]


@dataclass(eq=False, slots=True)
class View:
    """The memory of another tensor under another shape: a reshape. Inside a native entry it costs nothing."""

    source: Value
    info: TensorStructInfo


@dataclass(eq=False, slots=True)
class Longer:
    """A parameter with one more row behind it, in loops that collect (`native_control.collecting`)."""

    param: Value
    row: Value


Value = InRegister | Fields | Literal | Pending | View | Longer


@dataclass(eq=False, slots=True)
class KernelCall:
    """A `call_tir` (or `call_tir_inplace`) whose tensors all have known dtype and dims.

    `inplace[k]` is the argument that output k is written into, -1 for fresh memory.
    """

    kernel: GlobalVar
    function: PrimFunc
    name: str
    args: tuple[Value, ...]
    arg_infos: tuple[TensorStructInfo, ...]
    scalars: tuple[PrimExpr, ...]
    outputs: tuple[TensorStructInfo, ...]
    inplace: tuple[int, ...]
    results: tuple[Pending, ...] = field(default=())
    span: Span | None = None


def memory_of(value: Value) -> Value:
    """The value that owns the memory of `value`: for a view, the viewed one."""
    found = resolve(value)
    while isinstance(found, View):
        found = resolve(found.source)
    return found


def resolve(value: Value) -> Value:
    """`value`, or the register that replaced it once it was emitted."""
    if isinstance(value, Pending) and value.emitted is not None:
        return value.emitted
    return value
