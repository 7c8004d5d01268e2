"""StructInfo as TVMScript annotations: `R.Tensor((n, 4), dtype="float32")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.relax.check.variables import prim_vars
from baton._src.relax.nodes import ShapeExpr
from baton._src.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    empty_derive,
)
from baton._src.relax.text.scalars import NameOf, scalar_text
from baton._src.relax.types import DynTensorType, PackedFuncType, ShapeType, StaticType
from baton._src.support.python_text import tuple_text
from baton._src.support.trampoline import Task, run
from baton._src.tir.expr import Var as TirVar


class InfoText:
    """Prints StructInfo. `quoted`: the shape variables written inside strings, those a signature brings in."""

    def __init__(self, name_of: NameOf, holder_name: Callable[[Any], str], vdevice_text: Callable[[Any], str]) -> None:
        self.name_of = name_of
        self.holder_name = holder_name
        self.vdevice_text = vdevice_text
        self.quoted: frozenset[TirVar] = frozenset()

    def text(self, info: StructInfo) -> str:
        """`info` as an annotation."""
        if isinstance(info, (TupleStructInfo, FuncStructInfo)):
            return run(self._nested(info))
        return self._leaf(info)

    def dim(self, dim: PrimExpr) -> str:
        """A dim; in quotes if it mentions a quoted variable."""
        text = scalar_text(dim, self.name_of)
        if self.quoted and not self.quoted.isdisjoint(prim_vars(dim)):
            return f'"{text}"'
        return text

    def _nested(self, info: StructInfo) -> Task[str]:
        if isinstance(info, TupleStructInfo):
            fields: list[str] = []
            for part in info.fields:
                fields.append((yield self._nested(part)))
            return f"R.Tuple({', '.join(fields)})" if fields else "R.Tuple"
        if isinstance(info, FuncStructInfo):
            text: str = yield self._function(info)
            return text
        return self._leaf(info)

    def _function(self, info: FuncStructInfo) -> Task[str]:
        if info.params is None:
            plain = isinstance(info.ret, ObjectStructInfo) and info.derive_func is not None
            ret = "" if plain else (yield self._nested(info.ret))
            said = [] if plain else [f"ret={ret}"]
            if info.derive_func is not None and not (plain and info.derive_func is empty_derive):
                said.append(f'derive_func="{derive_name(info.derive_func)}"')
            said += ["purity=True"] if info.purity else []
            return f"R.Callable({', '.join(said)})" if said else "R.Callable"
        params: list[str] = []
        for part in info.params:
            params.append((yield self._nested(part)))
        ret = yield self._nested(info.ret)
        one = f"({params[0]},)" if len(params) == 1 else f"({', '.join(params)})"
        return f"R.Callable({one}, {ret}, {info.purity})"

    def _leaf(self, info: StructInfo) -> str:
        match info:
            case TensorStructInfo():
                return self._tensor(info)
            case ShapeStructInfo():
                return self._shape(info)
            case PrimStructInfo(value=None):
                return f'R.Prim("{info.dtype}")'
            case PrimStructInfo(value=PrimExpr() as value):
                return f"R.Prim(value={self.dim(value)})"
            case _:
                return "R.Object"

    def _tensor(self, info: TensorStructInfo) -> str:
        parts: list[str] = []
        if isinstance(info.shape, ShapeExpr):
            parts.append(tuple_text([self.dim(d) for d in info.shape.values]))
        elif info.shape is not None:
            parts.append(self.holder_name(info.shape))
        if not info.dtype.is_void:
            parts.append(f'dtype="{info.dtype}"')
        if info.shape is None and info.ndim != -1:
            parts.append(f"ndim={info.ndim}")
        if info.vdevice is not None:
            parts.append(f"vdevice={self.vdevice_text(info.vdevice)}")
        return f"R.Tensor({', '.join(parts)})" if parts else "R.Tensor"

    def _shape(self, info: ShapeStructInfo) -> str:
        if info.values is not None:
            return f"R.Shape([{', '.join(self.dim(d) for d in info.values)}])"
        return f"R.Shape(ndim={info.ndim})"


def type_text(type_: StaticType) -> str:
    """The `repr` of the static type of a value: unlike an annotation it includes `ndim=-1`, as in TVM."""
    match type_:
        case DynTensorType():
            return f'R.Tensor(ndim={type_.ndim}, dtype="{type_.dtype}")'
        case ShapeType():
            return f"R.Shape(ndim={type_.ndim})"
        case PackedFuncType():
            return "R.PackedFunc"
        case _:
            return "R.Object"


def derive_name(function: Any) -> str:
    """How a derive_func is named in text."""
    name = getattr(function, "name", None) or getattr(function, "__name__", type(function).__name__)
    return str(name)
