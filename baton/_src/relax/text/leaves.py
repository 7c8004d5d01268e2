"""Expressions without parts as TVMScript: `R.shape([n, 4])`, `R.const(1.0, "float32")`, `cls.f`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import GlobalVar, Op, PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.relax.nodes import (
    Constant,
    DataTypeImm,
    ExternFunc,
    PrimValue,
    ShapeExpr,
    StringImm,
    Var,
)
from baton._src.relax.struct_info import StructInfo, extern_func_info
from baton._src.relax.text.declarations import Declarations
from baton._src.relax.text.metadata import Metadata
from baton._src.relax.text.scalars import scalar_text
from baton._src.relax.text.values import quoted
from baton._src.tir.expr import IntImm
from baton._src.values.tensor import NDArray


class LeafText:
    """Prints leaves; scalars are written as numbers, other constants go into the metadata."""

    def __init__(self, declarations: Declarations, metadata: Metadata, info: Callable[[StructInfo], str]) -> None:
        self._declarations = declarations
        self._metadata = metadata
        self._info = info

    def text(self, expr: Any) -> str:
        """A leaf that is no variable."""
        match expr:
            case GlobalVar():
                return self._declarations.global_name(expr)
            case Constant():
                return self._constant(expr)
            case ShapeExpr():
                return f"R.shape([{', '.join(scalar_text(v, self._declarations.scalar_name) for v in expr.values)}])"
            case PrimValue():
                return f"R.prim_value({self._prim(expr.value)})"
            case StringImm():
                return f"R.str({quoted(expr.value)})"
            case DataTypeImm():
                return f'R.dtype("{expr.value}")'
            case ExternFunc():
                own = declared_info(expr)
                said = [quoted(expr.global_symbol)] if own is None else [quoted(expr.global_symbol), self._info(own)]
                return f"R.ExternFunc({', '.join(said)})"
            case Op():
                return f'R.op("{expr.name}")'
            case _:
                return f"<{type(expr).__name__}>"

    def _prim(self, value: PrimExpr) -> str:
        if isinstance(value, IntImm) and value.dtype.is_bool:
            return repr(bool(value.value))
        return scalar_text(value, self._declarations.scalar_name)

    def _constant(self, expr: Constant) -> str:
        data = expr.data
        if data.ndim == 0 and data.device.device_type == 1:
            text = _number_text(data)
            if text is not None:
                return f'R.const({text}, "{data.dtype}")'
        return self._metadata.reference(data)


def declared_info(function: ExternFunc) -> StructInfo | None:
    """The type that a script gives a packed function; None if it is the default one."""
    info = function.struct_info_
    return None if info is None or structural_equal(info, extern_func_info()) else info


def is_simple(expr: Any) -> bool:
    """Whether it is of the kind that nearly all arguments are: printed without a task."""
    return isinstance(expr, (Var, GlobalVar, Constant, ShapeExpr, PrimValue))


def _number_text(data: NDArray) -> str | None:
    """A rank-0 tensor as a number, or None where that would not read back exactly."""
    dtype = data.dtype
    if dtype.is_bool:
        return repr(bool(data.data))
    if dtype.is_int:
        return repr(int(data.data))
    number = float(data.data)
    return repr(number) if math.isfinite(number) and not (number == 0 and math.copysign(1, number) < 0) else None
