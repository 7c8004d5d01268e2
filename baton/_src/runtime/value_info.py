"""Requirements on values at run time, as data: the executable's form of StructInfo.

Dims and prim values are `DimExpr`s over the slots of the function's shape heap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.runtime.dim_expr import DimExpr, format_dim
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail


@dataclass(frozen=True, slots=True)
class ObjectValue:
    """Anything."""


@dataclass(frozen=True, slots=True)
class TensorValue:
    """A tensor; dtype "" and ndim -1 are any, dims None unknown.

    `shape_argument` (>= 0) says which extra argument of the check holds the shape the tensor must have.
    """

    dtype: str = ""
    ndim: int = -1
    dims: tuple[DimExpr, ...] | None = None
    shape_argument: int = -1


@dataclass(frozen=True, slots=True)
class ShapeValue:
    """A shape value; ndim -1 is any, dims None unknown."""

    ndim: int = -1
    dims: tuple[DimExpr, ...] | None = None


@dataclass(frozen=True, slots=True)
class PrimScalar:
    """A prim value of exactly this dtype, equal to `value` if given."""

    dtype: str
    value: DimExpr = None


@dataclass(frozen=True, slots=True)
class TupleValue:
    """A tuple of these."""

    fields: tuple[ValueInfo, ...]


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A function. `params` None: a packed function (opaque); otherwise a closure. `any_callable`: either.

    Variables are numbered anew inside; `outer` are pairs of such a number and the slot of the scope around, for those
    that are the scope's.
    """

    params: tuple[ValueInfo, ...] | None = None
    ret: ValueInfo | None = None
    pure: bool = False
    any_callable: bool = False
    outer: tuple[tuple[int, int], ...] = ()


ValueInfo = ObjectValue | TensorValue | ShapeValue | PrimScalar | TupleValue | FunctionValue

ANY = ObjectValue()


def show_info(info: ValueInfo, names: Sequence[str] = ()) -> str:
    """The info as program text, for messages; `names` are those of the slots of shape variables."""
    match info:
        case TensorValue():
            dims = "" if info.dims is None else _show_dims(info.dims, names)
            parts = [dims or f"ndim={info.ndim}" if info.ndim >= 0 else "", f'"{info.dtype}"' if info.dtype else ""]
            return f"R.Tensor({', '.join(p for p in parts if p)})"
        case ShapeValue():
            inner = (
                _show_dims(info.dims, names) if info.dims is not None else f"ndim={info.ndim}" if info.ndim >= 0 else ""
            )
            return f"R.Shape({inner})"
        case PrimScalar():
            return f'R.Prim("{info.dtype}")' if info.value is None else f"R.Prim(value={format_dim(info.value, names)})"
        case TupleValue():
            return f"R.Tuple({', '.join(show_info(f, names) for f in info.fields)})"
        case FunctionValue() if info.params is None:
            return "R.Callable()"
        case FunctionValue():
            params = " ".join(f"{show_info(p, names)}," for p in info.params or ())
            return f"R.Callable(({params}), {show_info(info.ret or ANY, names)}, {info.pure})"
        case _:
            return "R.Object"


def _show_dims(dims: tuple[DimExpr, ...], names: Sequence[str]) -> str:
    return f"({', '.join('?' if d is None else format_dim(d, names) for d in dims)}{',' if len(dims) == 1 else ''})"


def info_to_data(info: ValueInfo) -> list[Any]:
    """The information as JSON data."""
    match info:
        case ObjectValue():
            return ["object"]
        case TensorValue(dtype, ndim, dims, argument):
            return ["tensor", dtype, ndim, None if dims is None else list(dims), argument]
        case ShapeValue(ndim, dims):
            return ["shape", ndim, None if dims is None else list(dims)]
        case PrimScalar(dtype, value):
            return ["prim", dtype, value]
        case TupleValue(fields):
            return ["tuple", [info_to_data(f) for f in fields]]
        case FunctionValue(params, ret, pure, any_callable, outer):
            inputs = None if params is None else [info_to_data(p) for p in params]
            result = None if ret is None else info_to_data(ret)
            return ["func", inputs, result, pure, any_callable, *(list(pair) for pair in outer)]


def info_from_data(data: Any) -> ValueInfo:
    """The inverse of `info_to_data`; `DiagnosticError` (`executable-corrupt`) on anything else."""
    match data:
        case ["object"]:
            return ANY
        case ["tensor", str() as dtype, int() as ndim, dims, int() as argument]:
            return TensorValue(dtype, ndim, None if dims is None else tuple(dims), argument)
        case ["shape", int() as ndim, dims]:
            return ShapeValue(ndim, None if dims is None else tuple(dims))
        case ["prim", str() as dtype, value]:
            return PrimScalar(dtype, value)
        case ["tuple", list() as fields]:
            return TupleValue(tuple(info_from_data(f) for f in fields))
        case ["func", params, ret, bool() as pure, bool() as any_callable, *outer]:
            inputs = None if params is None else tuple(info_from_data(p) for p in params)
            pairs = tuple((int(here), int(around)) for here, around in outer)
            return FunctionValue(inputs, None if ret is None else info_from_data(ret), pure, any_callable, pairs)
        case _:
            raise fail("executable-corrupt", f"{data!r} is not the information of a value")
