"""The kinds of StructInfo (seed 001, Survey of StructInfo). Names as in `tvm.relax` v0.19."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baton._src.ir.array import Array
from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import init_field, match_part, node, part
from baton._src.relax.any_struct_info import StructInfo as StructInfo  # importers find it next to its kinds
from baton._src.relax.nodes import Call, ShapeExpr, as_dim
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.tir.expr import IntImm, literal
from baton._src.values.dtype import VOID, DataType
from baton._src.values.packed_func import PROCESS_FUNCTIONS


@node
class ObjectStructInfo(StructInfo):
    """Any value: the top of the StructInfo lattice."""

    def __init__(self, span: Span | None = None) -> None:
        init_field(self, "span", span)


@node
class PrimStructInfo(StructInfo):
    """A scalar of `dtype`, equal to `value` if that is known."""

    dtype: DataType = part(kw_only=True)
    value: PrimExpr | None = match_part(kw_only=True, default=None)

    def __init__(self, dtype: object = None, value: Any = None, span: Span | None = None) -> None:
        if dtype is None and value is None:
            raise fail("api", "PrimStructInfo needs a dtype or a value")
        known = None if value is None else literal(value, None if dtype is None else DataType(dtype))
        init_field(
            self,
            "dtype",
            DataType(dtype) if dtype is not None else known.dtype if known is not None else VOID,
        )
        init_field(self, "value", known)
        init_field(self, "span", span)


@node
class ShapeStructInfo(StructInfo):
    """A shape of `ndim` dims (-1: any), equal to `values` if they are known."""

    values: tuple[PrimExpr, ...] | None = match_part(kw_only=True, default=None)
    ndim: int = part(kw_only=True, default=-1)

    def __init__(self, values: Any = None, ndim: int = -1, span: Span | None = None) -> None:
        dims = None if values is None else Array(as_dim(v) for v in values)
        if dims is not None and ndim not in (-1, len(dims)):
            raise fail("api", f"ShapeStructInfo: ndim {ndim} contradicts {len(dims)} values")
        _check_ndim("ShapeStructInfo", ndim)
        init_field(self, "values", dims)
        init_field(self, "ndim", ndim if dims is None else len(dims))
        init_field(self, "span", span)


@node
class TensorStructInfo(StructInfo):
    """A tensor. `shape`: a `ShapeExpr`, a variable that holds a shape, or None. None, dtype void, ndim -1: unknown."""

    shape: Any = match_part(kw_only=True, default=None)
    dtype: DataType = part(kw_only=True, default=VOID)
    vdevice: Any = part(kw_only=True, default=None)
    ndim: int = part(kw_only=True, default=-1)

    def __init__(
        self,
        shape: Any = None,
        dtype: object = "float32",
        vdevice: Any = None,
        ndim: int = -1,
        span: Span | None = None,
    ) -> None:
        found = ShapeExpr(shape) if isinstance(shape, (list, tuple)) else shape
        _check_extents(found)
        rank = _rank(found)
        if rank is not None and ndim not in (-1, rank):
            raise fail("api", f"TensorStructInfo: ndim {ndim} contradicts a shape of rank {rank}")
        _check_ndim("TensorStructInfo", ndim)
        init_field(self, "shape", found)
        init_field(self, "dtype", DataType(dtype if dtype is not None else "void"))
        init_field(self, "vdevice", vdevice)
        init_field(self, "ndim", ndim if rank is None else rank)
        init_field(self, "span", span)


@node
class TupleStructInfo(StructInfo):
    """A tuple; without fields the unit value."""

    fields: tuple[StructInfo, ...] = part(kw_only=True)

    def __init__(self, fields: Any, span: Span | None = None) -> None:
        init_field(self, "fields", _infos("a field of a TupleStructInfo", fields))
        init_field(self, "span", span)


@node
class FuncStructInfo(StructInfo):
    """A function. If `params` is None it is opaque: `derive_func(call, context)` gives its result, `ret` is ignored.

    A derive_func may be given by name: `default_derive`, `empty_derive`, or a name registered by `register_func`.
    """

    params: tuple[StructInfo, ...] | None = match_part(kw_only=True, default=None)
    ret: StructInfo = part(kw_only=True)
    purity: bool = part(kw_only=True, default=True)
    derive_func: Any = part(kw_only=True, default=None)

    def __init__(
        self,
        params: Any,
        ret: StructInfo | None = None,
        purity: bool = True,
        span: Span | None = None,
        *,
        derive_func: Any = None,
    ) -> None:
        init_field(self, "params", None if params is None else _infos("a parameter of a FuncStructInfo", params))
        init_field(self, "ret", ret if ret is not None else ObjectStructInfo())
        init_field(self, "purity", purity)
        init_field(self, "derive_func", _derive_func(derive_func))
        init_field(self, "span", span)

    @staticmethod
    def opaque_func(
        *, ret: StructInfo | None = None, derive_func: Any = None, purity: bool = False, span: Span | None = None
    ) -> FuncStructInfo:
        """The StructInfo of a packed function: unknown parameters, results by `derive_func` or `ret`."""
        return FuncStructInfo(None, ret, purity, span, derive_func=derive_func)


def default_derive(call: Call, context: Any) -> StructInfo:
    """The result by the call's `sinfo_args`: any object without one, the only one, or the tuple of several."""
    said = call.sinfo_args
    if not said:
        return ObjectStructInfo()
    return said[0] if len(said) == 1 else TupleStructInfo(said)


def empty_derive(call: Call, context: Any) -> StructInfo:
    """Any object."""
    return ObjectStructInfo()


_DERIVE_FUNCS: dict[str, Any] = {
    "default_derive": default_derive,
    "tvm.relax.struct_info.infer_by_sinfo_args": default_derive,
    "empty_derive": empty_derive,
}
"""Predefined derive_funcs (facts: relax-language §6), by name."""


def _derive_func(said: Any) -> Any:
    if said is None or callable(said):
        return said
    found = (_DERIVE_FUNCS.get(said) or PROCESS_FUNCTIONS.get(said)) if isinstance(said, str) else None
    if found is None:
        known = ", ".join(sorted(_DERIVE_FUNCS))
        raise fail(
            "api",
            f"there is no derive_func named {said!r}",
            help=f"known are {known}, and every function made known by register_func",
        )
    return found


def extern_func_info() -> FuncStructInfo:
    """The StructInfo of an `ExternFunc`: opaque and impure, results by `default_derive`."""
    return FuncStructInfo.opaque_func(ret=ObjectStructInfo(), derive_func=default_derive)


def _check_extents(shape: Any) -> None:
    values = shape.values if isinstance(shape, ShapeExpr) else ()
    negative = next((d.value for d in values if isinstance(d, IntImm) and d.value < 0), None)
    if negative is not None:
        raise fail(
            "api", f"TensorStructInfo: {negative} is no size of a dim", help="name an unknown size by a variable"
        )


def untupled(info: Any) -> list[Any]:
    """What is no tuple in nested tuples, left to right."""
    found, work = [], [info]
    while work:
        item = work.pop()
        if isinstance(item, TupleStructInfo):
            work.extend(reversed(item.fields))
        else:
            found.append(item)
    return found


def _check_ndim(what: str, ndim: int) -> None:
    if ndim < -1:
        raise fail("api", f"{what}: ndim {ndim} is not a rank", help="-1 stands for an unknown rank")


def _infos(what: str, infos: Any) -> tuple[StructInfo, ...]:
    if not isinstance(infos, Iterable):
        raise fail("api", f"{what} is a StructInfo in a sequence of them, got {infos!r}")
    found = Array(infos)
    for info in found:
        if not isinstance(info, StructInfo):
            raise fail("api", f"{what} is a StructInfo, got a {type(info).__name__}")
    return found


def _rank(shape: Any) -> int | None:
    """The rank of a shape (a ShapeExpr, or a variable by its StructInfo); None if unknown."""
    if isinstance(shape, ShapeExpr):
        return len(shape.values)
    info = getattr(shape, "struct_info_", None)
    if isinstance(info, ShapeStructInfo):
        return None if info.ndim == -1 else info.ndim
    if shape is not None:
        raise fail(
            "RELAX-WF-14",
            f"the shape of a TensorStructInfo must be a ShapeExpr or a shape variable, got {shape!r}",
        )
    return None
