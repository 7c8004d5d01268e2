"""`BlockBuilder.call_te`: create a kernel from a function over te tensors, and the `call_tir` that calls it.

The kernel has its own shape variables, one for each of the caller's, with the same name. Those that are not themselves
a dim of some buffer are passed as trailing integers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from baton._src.ir.expr import GlobalVar, PrimExpr
from baton._src.ir.traverse import substitute
from baton._src.relax.check.report import API, described
from baton._src.relax.check.variables import prim_vars
from baton._src.relax.nodes import Call, PrimValue, ShapeExpr, Tuple
from baton._src.relax.special.calls import CALL_TIR, CALL_TIR_WITH_GRAD, CallTIRWithGradAttrs
from baton._src.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.te.computation import placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.te.tensor import Tensor
from baton._src.tir import operators
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import INT64


@dataclass
class CallTE:
    """A kernel and how to call it."""

    name: str
    function: PrimFunc
    args: list[Any]
    """The arguments in the kernel's order: tensors, and scalars of which only the dtype is known."""
    outputs: StructInfo
    integers: list[TirVar]
    """The caller's shape variables that are passed as integers after the outputs."""

    def call(self, callee: GlobalVar) -> Call:
        return Call(CALL_TIR.op, self._args(callee), None, [self.outputs])

    def call_with_grad(self, callee: GlobalVar, te_grad_name: str, te_grad_kwargs: dict[str, Any]) -> Call:
        attrs = CallTIRWithGradAttrs(te_grad_name, te_grad_kwargs)
        return Call(CALL_TIR_WITH_GRAD.op, self._args(callee), attrs, [self.outputs])

    def _args(self, callee: GlobalVar) -> list[Any]:
        ints = [ShapeExpr(self.integers)] if self.integers else []
        return [callee, Tuple(self.args), *ints]


@dataclass
class _Conversion:
    """Converts arguments of the call to te tensors and scalars."""

    normalize: Callable[[Any], Any]
    exprs: list[Any] = field(default_factory=list)
    params: list[Tensor | TirVar] = field(default_factory=list)
    """The kernel's parameter for each of `exprs`."""
    own: dict[TirVar, TirVar] = field(default_factory=dict)
    """The kernel's variable for each of the caller's."""

    def dim(self, expr: PrimExpr) -> Any:
        for var in prim_vars(expr):
            if var not in self.own:
                self.own[var] = TirVar(var.name, var.dtype)
        return substitute(expr, self.own)

    def argument(self, value: Any) -> Any:
        if isinstance(value, PrimExpr):
            return self.dim(value)
        if isinstance(value, (list, tuple)):
            return type(value)(self.argument(v) for v in value)
        if isinstance(value, dict):
            return {k: self.argument(v) for k, v in value.items()}
        if not hasattr(value, "struct_info_"):
            return value
        return self._expression(self.normalize(value))

    def _expression(self, value: Any) -> Any:
        if isinstance(value, Tuple):
            return [self._expression(f) for f in value.fields]
        if isinstance(value, PrimValue):
            return self.dim(value.value)
        info = value.struct_info
        name = getattr(value, "name_hint", None) or f"arg{len(self.exprs)}"
        match info:
            case TensorStructInfo(shape=ShapeExpr() as shape) if not info.dtype.is_void:
                return self._param(value, placeholder([self.dim(d) for d in shape.values], info.dtype, name))
            case ShapeStructInfo(values=tuple() as values):
                return [self.dim(v) for v in values]
            case PrimStructInfo(value=PrimExpr() as scalar):
                return self.dim(scalar)
            case PrimStructInfo():
                return self._param(value, TirVar(name, info.dtype))
            case _:
                raise fail(
                    API,
                    f"call_te cannot pass {described(info)} to a te function",
                    help="tensors need known rank and dtype, shapes known values: insert a match_cast",
                )

    def _param(self, value: Any, param: Tensor | TirVar) -> Any:
        self.exprs.append(value)
        self.params.append(param)
        return param


def call_te_arguments(
    normalize: Callable[[Any], Any], func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> CallTE:
    """Apply `func` to the arguments converted to te; `normalize` turns an expression into a leaf with StructInfo.

    `primfunc_name_hint` (default: the function's name) and `primfunc_attrs` are taken out of `kwargs`.
    """
    name = kwargs.pop("primfunc_name_hint", None) or getattr(func, "__name__", "te_func")
    name = re.sub(r"\W", "_", name)  # texts define the kernel under it; a lambda is called `<lambda>`
    attrs = kwargs.pop("primfunc_attrs", None) or {}
    conversion = _Conversion(normalize)
    made = func(*[conversion.argument(a) for a in args], **{k: conversion.argument(v) for k, v in kwargs.items()})
    outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    for output in outputs:
        if not isinstance(output, Tensor):
            raise fail(API, f"the te function {name} gave {type(output).__name__}, not a tensor")
    params = [*conversion.params, *outputs]
    integers = _undetermined([p for p in params if isinstance(p, Tensor)], conversion.own)
    function = create_prim_func([*params, *(conversion.own[v] for v in integers)], name=name, attrs=attrs)
    back = {mine: theirs for theirs, mine in conversion.own.items()}
    place = next((e.struct_info.vdevice for e in conversion.exprs if getattr(e.struct_info, "vdevice", None)), None)
    infos = [
        TensorStructInfo([operators.cast(INT64, substitute(d, back)) for d in o.shape], o.dtype, place) for o in outputs
    ]
    info: StructInfo = infos[0] if len(infos) == 1 else TupleStructInfo(infos)  # a list of one is no tuple, as in TVM
    return CallTE(name, function.without_attr("global_symbol"), conversion.exprs, info, integers)


def _undetermined(tensors: Sequence[Tensor], own: dict[TirVar, TirVar]) -> list[TirVar]:
    """The caller's variables whose kernel variable is not by itself a dim of any of the kernel's buffer arguments."""
    found = {d for t in tensors for d in t.shape if isinstance(d, TirVar)}
    return [theirs for theirs, mine in own.items() if mine not in found]
