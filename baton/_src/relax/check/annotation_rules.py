"""Criteria on StructInfo annotations and their scope (seed 001, Well-Formedness 5, 10, 14-17, 19, 20, 22).

`Place` says where an annotation stands, since that decides which shape variables may be new in it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from baton._src.ir.expr import PrimExpr
from baton._src.relax.check.findings import Findings
from baton._src.relax.check.variables import leaf_dims, prim_vars
from baton._src.relax.nodes import ShapeExpr, Var
from baton._src.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.support.spans import Span
from baton._src.tir.expr import Var as TirVar
from baton._src.values.dtype import DataType

_INT_BITS = {1, 8, 16, 32, 64}
_FLOAT_BITS = {16, 32, 64}


class Place(Enum):
    """The kind of position an annotation is in."""

    PARAM = "a parameter"
    CAST = "a match_cast"
    BINDING = "a binding"
    RETURN = "a return annotation"
    CALL = "a struct info argument"


class AnnotationRules:
    """Checks annotations against the variables in scope, which the walk over the program keeps."""

    def __init__(
        self,
        findings: Findings,
        shape_scope: set[TirVar],
        add_shape_var: Callable[[TirVar], None],
        is_visible: Callable[[Var], bool],
    ) -> None:
        self.findings = findings
        self.shape_scope = shape_scope
        self.add_shape_var = add_shape_var
        self.is_visible = is_visible

    def check(self, info: StructInfo, place: Place, span: Span | None, what: str) -> None:
        """Check all criteria for one annotation. In a cast, new variables that are a whole dim come into scope left to
        right.
        """
        todo: list[tuple[StructInfo, frozenset[TirVar]]] = [(info, frozenset())]
        while todo:
            part, inner = todo.pop()
            at = part.span or span
            match part:
                case TupleStructInfo():
                    todo.extend((f, inner) for f in reversed(part.fields))
                case FuncStructInfo():
                    todo.extend(self._function(part, inner, at, what))
                case TensorStructInfo():
                    self._tensor(part, place, inner, at, what)
                case ShapeStructInfo():
                    self._shape(part, place, inner, at, what)
                case PrimStructInfo():
                    self._prim(part, place, inner, at, what)
                case _:
                    pass

    def _function(
        self, info: FuncStructInfo, inner: frozenset[TirVar], span: Span | None, what: str
    ) -> list[tuple[StructInfo, frozenset[TirVar]]]:
        if (info.params is None) == (info.derive_func is None):
            self.findings.add(
                "RELAX-WF-17",
                f"the function type of {what} gives {'both' if info.params is not None else 'neither'} of params and "
                "derive_func",
                span=span,
                help="a closure has params, a packed function a derive_func",
            )
        bound = inner | {d for p in info.params or () for d in _alone(p)}
        return [(p, bound) for p in (*(info.params or ()), *([] if info.params is None else [info.ret]))][::-1]

    def _tensor(
        self, info: TensorStructInfo, place: Place, inner: frozenset[TirVar], span: Span | None, what: str
    ) -> None:
        self._dtype(info.dtype, span, what)
        shape = info.shape
        if isinstance(shape, ShapeExpr):
            if info.ndim != len(shape.values):
                self.findings.add(
                    "RELAX-WF-10",
                    f"{what} has ndim {info.ndim} but a shape of {len(shape.values)} dims",
                    span=span,
                )
            self._dims(shape.values, "RELAX-WF-14", place, inner, span, what)
        elif isinstance(shape, Var):
            self._holder(shape, info, span, what)
        elif shape is not None:
            self.findings.add(
                "RELAX-WF-14", f"the shape of {what} is a {type(shape).__name__}", span=span,
                help="only a ShapeExpr or a variable holding a shape can stand there",
            )  # fmt: skip

    def _holder(self, shape: Var, info: TensorStructInfo, span: Span | None, what: str) -> None:
        if not self.is_visible(shape):
            self.findings.add(
                "RELAX-WF-14", f"the shape of {what} is variable {shape.name_hint}, which is not in scope", span=span
            )
        known = shape.struct_info_
        if not isinstance(known, ShapeStructInfo):
            self.findings.add(
                "RELAX-WF-14c", f"the shape of {what} is variable {shape.name_hint}, which holds no shape", span=span
            )
        elif known.ndim != info.ndim:
            self.findings.add(
                "RELAX-WF-14c",
                f"{what} has ndim {info.ndim} but its shape {shape.name_hint} has {known.ndim} dims",
                span=span,
            )

    def _shape(
        self, info: ShapeStructInfo, place: Place, inner: frozenset[TirVar], span: Span | None, what: str
    ) -> None:
        if info.values is not None:
            if info.ndim != len(info.values):
                self.findings.add(
                    "RELAX-WF-10", f"{what} has ndim {info.ndim} but {len(info.values)} values", span=span
                )
            self._dims(info.values, "RELAX-WF-15", place, inner, span, what)

    def _prim(self, info: PrimStructInfo, place: Place, inner: frozenset[TirVar], span: Span | None, what: str) -> None:
        if info.dtype.kind in ("void", "handle"):
            self.findings.add(
                "RELAX-WF-19", f"{what} is a prim of dtype {info.dtype}, which is not a number", span=span
            )
        else:
            self._dtype(info.dtype, span, what)
        if info.value is None:
            return
        if info.value.dtype != info.dtype:
            self.findings.add(
                "RELAX-WF-22", f"{what} has dtype {info.dtype} but a value of dtype {info.value.dtype}", span=span
            )
        self._scalar(info.value, "RELAX-WF-16", place, inner, span, what)

    def _dtype(self, dtype: DataType, span: Span | None, what: str) -> None:
        if not is_legal_dtype(dtype):
            self.findings.add(
                "RELAX-WF-20", f"{what} has dtype {dtype}, which Relax does not have", span=span,
                help="int and uint have 1, 8, 16, 32 or 64 bits, float 16, 32 or 64, and one lane",
            )  # fmt: skip

    def _dims(
        self,
        dims: tuple[PrimExpr, ...],
        code: str,
        place: Place,
        inner: frozenset[TirVar],
        span: Span | None,
        what: str,
    ) -> None:
        for dim in dims:
            if not dim.dtype.is_int or dim.dtype.lanes != 1:
                self.findings.add(
                    "RELAX-WF-25", f"a dimension of {what} has dtype {dim.dtype}, not an integer one", span=span
                )
            self._scalar(dim, code, place, inner, span, what)

    def _scalar(
        self,
        dim: PrimExpr,
        code: str,
        place: Place,
        inner: frozenset[TirVar],
        span: Span | None,
        what: str,
    ) -> None:
        if isinstance(dim, TirVar) and place is Place.CAST and dim not in inner:
            self.add_shape_var(dim)
            return
        for var in prim_vars(dim):
            if var in self.shape_scope or var in inner:
                continue
            self.findings.add(
                {Place.CAST: "RELAX-WF-5", Place.RETURN: "RELAX-WF-4", Place.PARAM: "RELAX-WF-6"}.get(place, code),
                f"shape variable {var.name} is used in {what} before it is bound",
                span=span or dim.span if isinstance(dim, TirVar) else dim.span or span,
                help=_BINDING_HELP[place],
            )


_BINDING_HELP = {
    Place.PARAM: "let it stand alone in a dimension of some parameter",
    Place.CAST: "only a dimension that is the variable alone binds it, left to right",
    Place.BINDING: "a binding's annotation cannot bind shape variables: use R.match_cast",
    Place.RETURN: "a return annotation may use the shape variables of the parameters and of the outer scope",
    Place.CALL: "bind it first, by a parameter or by R.match_cast",
}


def is_legal_dtype(dtype: DataType) -> bool:
    """Whether Relax has this element type (Void, for unknown, included)."""
    if dtype.kind == "void":
        return True
    if dtype.lanes != 1 or dtype.kind == "handle":
        return False
    if dtype.kind == "bool" or (dtype.kind == "bfloat" and dtype.bits == 16):
        return True
    return dtype.bits in (_INT_BITS if dtype.is_int else _FLOAT_BITS)


def _alone(info: StructInfo) -> list[TirVar]:
    found: list[TirVar] = []
    todo = [info]
    while todo:
        part = todo.pop()
        if isinstance(part, TupleStructInfo):
            todo.extend(part.fields)
        else:
            found += [d for d in leaf_dims(part) if isinstance(d, TirVar)]
    return found
