"""Annotations: `R.Tensor`, `R.Shape`, `R.Tuple`, `R.Callable`, `R.Prim`, `R.Object`.

Each is an object that can be called. Called with plain dims it gives the StructInfo at once; strings as dims (`"n"`,
`"n * 2"`) name shape variables of the signature they stand in, and a string or a number as a device one of the module:
such a call gives a `Pending`, which the parser resolves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.global_info import VDevice
from baton._src.relax.nodes import ShapeExpr, Var
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
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import VOID, DataType


class Scalars:
    """The interface by which a `Pending` resolves its arguments: dims from text, and devices by name."""

    def dim(self, text: str) -> PrimExpr | int:
        raise fail("script-annotation", f"{text!r} names shape variables, which only a signature can introduce")

    def vdevice(self, said: Any) -> Any:
        return said


@dataclass(frozen=True)
class Pending:
    """An annotation that mentions shape variables by name."""

    kind: InfoKind
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def resolve(self, scalars: Scalars) -> StructInfo:
        """The StructInfo, with names looked up."""
        return self.kind.build(scalars, *self.args, **self.kwargs)


class InfoKind:
    """One kind of annotation, e.g. `R.Tensor`."""

    def __init__(self, name: str, build: Callable[..., StructInfo]) -> None:
        self.name = name
        self._build = build

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The StructInfo, or a `Pending` if something in it is named by a string."""
        if _is_pending(self.name, args, kwargs):
            return Pending(self, args, kwargs)
        return self.build(Scalars(), *args, **kwargs)

    def build(self, scalars: Scalars, *args: Any, **kwargs: Any) -> StructInfo:
        """The StructInfo of a call; `DiagnosticError` for arguments that do not fit."""
        try:
            return self._build(scalars, *args, **kwargs)
        except TypeError as error:
            message = str(error).replace(f"{self._build.__name__}()", f"R.{self.name}")
            raise fail("script-annotation", message) from None

    def __repr__(self) -> str:
        return f"R.{self.name}"


def resolve(said: Any, scalars: Scalars) -> StructInfo:
    """An annotation as StructInfo; it may be one already, a `Pending`, or a kind by itself (`R.Tensor`)."""
    if isinstance(said, StructInfo):
        return said
    if isinstance(said, Pending):
        return said.resolve(scalars)
    if isinstance(said, InfoKind):
        return said.build(scalars)
    raise fail(
        "script-annotation",
        f"{said!r} is not an annotation",
        help='write e.g. R.Tensor((n, 4), "float32"), R.Shape, R.Tuple(...), R.Callable(...), R.Prim("int64")',
    )


def _is_pending(kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if kind == "Tensor":
        device = kwargs.get("vdevice", args[2] if len(args) > 2 else None)
        if device is not None and not isinstance(device, VDevice):
            return True
        dims = kwargs.get("shape", args[0] if args and not isinstance(args[0], str) else ())
        return _has_text(dims)
    if kind == "Shape":
        return _has_text(kwargs.get("values", args[0] if args else ()))
    if kind == "Prim":
        return isinstance(kwargs.get("value"), str)
    return _has_pending((*args, *kwargs.values()))


def _has_text(dims: Any) -> bool:
    return isinstance(dims, (list, tuple)) and any(isinstance(d, str) for d in dims)


def _has_pending(items: Any) -> bool:
    return any(isinstance(i, Pending) or (isinstance(i, (list, tuple)) and _has_pending(i)) for i in items)


def _dims(scalars: Scalars, dims: Any) -> list[Any]:
    return [scalars.dim(d) if isinstance(d, str) else d for d in dims]


def _tensor(scalars: Scalars, shape: Any = None, dtype: Any = None, vdevice: Any = None, ndim: int = -1) -> StructInfo:
    if isinstance(shape, str) and dtype is None:
        shape, dtype = None, shape
    if isinstance(shape, (list, tuple)):
        shape = ShapeExpr(_dims(scalars, shape))
    elif shape is not None and not isinstance(shape, (ShapeExpr, Var)):
        raise fail("script-annotation", f"the shape of R.Tensor is a tuple of dims or a shape variable, got {shape!r}")
    _check_ndim("R.Tensor", ndim)
    device = None if vdevice is None else scalars.vdevice(vdevice)
    return TensorStructInfo(shape, VOID if dtype is None else DataType(dtype), device, ndim)


def _shape(scalars: Scalars, values: Any = None, ndim: int = -1) -> StructInfo:
    _check_ndim("R.Shape", ndim)
    if values is not None and not isinstance(values, (list, tuple)):
        raise fail("script-annotation", f"R.Shape takes a list of dims, got {values!r}")
    return ShapeStructInfo(None if values is None else _dims(scalars, values), ndim)


def _check_ndim(kind: str, ndim: Any) -> None:
    if not isinstance(ndim, int) or ndim < -1:
        raise fail("script-annotation", f"{kind}: ndim is a number of dims, or -1 for unknown, got {ndim!r}")


def _tuple(scalars: Scalars, *fields: Any) -> StructInfo:
    found = fields[0] if len(fields) == 1 and isinstance(fields[0], (list, tuple)) else fields
    return TupleStructInfo([resolve(f, scalars) for f in found])


def _callable(
    scalars: Scalars, params: Any = None, ret: Any = None, purity: bool | None = None, derive_func: Any = None
) -> StructInfo:
    result = ObjectStructInfo() if ret is None else resolve(ret, scalars)
    if params is None:
        # Without a derive_func nothing is known of results. That any other `ret` is given alone is ill-formed (WF-17).
        no_ret = isinstance(result, ObjectStructInfo)
        derive = derive_func if derive_func is not None else empty_derive if no_ret else None
        return FuncStructInfo.opaque_func(ret=result, derive_func=derive, purity=bool(purity))
    items = params if isinstance(params, (list, tuple)) else (params,)
    found = [resolve(p, scalars) for p in items]
    return FuncStructInfo(found, result, True if purity is None else bool(purity), derive_func=derive_func)


def _prim(scalars: Scalars, dtype: Any = None, value: Any = None) -> StructInfo:
    if dtype is None and value is None:
        raise fail("script-annotation", "R.Prim needs a dtype or a value")
    known = scalars.dim(value) if isinstance(value, str) else value
    if known is not None and not isinstance(known, PrimExpr) and dtype is None:
        dtype = "bool" if isinstance(known, bool) else "int64" if isinstance(known, int) else "float64"
    return PrimStructInfo(dtype, known)


def _object(scalars: Scalars) -> StructInfo:
    return ObjectStructInfo()


INFO_KINDS: dict[str, InfoKind] = {
    "Tensor": InfoKind("Tensor", _tensor),
    "Shape": InfoKind("Shape", _shape),
    "Tuple": InfoKind("Tuple", _tuple),
    "Callable": InfoKind("Callable", _callable),
    "Prim": InfoKind("Prim", _prim),
    "Object": InfoKind("Object", _object),
}
