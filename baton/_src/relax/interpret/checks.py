"""Run-time structural checks: MatchCast, and signatures (seed 001, Evaluating MatchCast; facts: relax-language §1).

A cast goes left to right and binds shape variables standing alone as it meets them. A signature first binds every
variable in a binding position of any parameter, then checks the arguments in order; a result is only checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from baton._src.ir.expr import PrimExpr
from baton._src.relax.check.compatibility import is_subtype
from baton._src.relax.check.dims import Answer
from baton._src.relax.check.erase import substitute_info
from baton._src.relax.check.signatures import is_claimed, is_of_host
from baton._src.relax.check.variables import prim_vars, tir_vars_in_struct_info
from baton._src.relax.interpret.environment import Frame, PrimFuncValue
from baton._src.relax.nodes import Call, ShapeExpr, Var
from baton._src.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.runtime.value_errors import describe
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.expr import literal
from baton._src.values.closure import Closure
from baton._src.values.packed_func import PackedFunc
from baton._src.values.prim import as_declared, prim_dtype, same_number
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray

CHECK = "value-mismatch"


class Checker:
    """Checks against the shape variables of one frame. `bind`: variables that are unbound get their values."""

    def __init__(self, frame: Frame, *, bind: bool) -> None:
        self.frame = frame
        self.bind = bind

    def cast(self, value: Any, info: StructInfo, place: str) -> None:
        """Check `value`, part by part, left to right."""
        todo: list[tuple[Any, StructInfo, str]] = [(value, info, place)]
        while todo:
            have, want, at = todo.pop()
            match want:
                case TupleStructInfo(fields=fields):
                    self._tuple(have, len(fields), at)
                    parts = [(v, f, f"{at}[{i}]") for i, (v, f) in enumerate(zip(have, fields))]
                    todo.extend(reversed(parts))
                case TensorStructInfo():
                    self._tensor(have, want, at)
                case ShapeStructInfo():
                    self._shape(have, want, at)
                case PrimStructInfo():
                    self._prim(have, want, at)
                case FuncStructInfo():
                    self._function(have, want, at)
                case _:
                    pass

    def signature(self, params: Sequence[Var], args: Sequence[Any]) -> None:
        """Bind every variable of the signature first, then check the arguments in order."""
        for param, arg in zip(params, args):
            if param.struct_info_ is not None:
                self._bind_positions(arg, param.struct_info_, f"argument {param.name_hint}")
        self.bind = False
        for param, arg in zip(params, args):
            if param.struct_info_ is not None:
                self.cast(arg, param.struct_info_, f"argument {param.name_hint}")

    # ------------------------------------------------------------------------------------------------- binding

    def _bind_positions(self, value: Any, info: StructInfo, place: str) -> None:
        """Phase A: category and rank are checked where a dimension has to be read."""
        todo: list[tuple[Any, StructInfo, str]] = [(value, info, place)]
        while todo:
            have, want, at = todo.pop()
            match want:
                case TupleStructInfo(fields=fields):
                    if any(_binds(f) for f in fields):
                        self._tuple(have, len(fields), at)
                        todo.extend(reversed([(v, f, f"{at}[{i}]") for i, (v, f) in enumerate(zip(have, fields))]))
                case TensorStructInfo(shape=ShapeExpr(values=dims)) if _any_var(dims):
                    self._rank(self._array(have, at), len(dims), at)
                    self._bind_dims(dims, have.shape)
                case ShapeStructInfo(values=tuple() as dims) if _any_var(dims):
                    self._rank(self._shape_value(have, at), len(dims), at)
                    self._bind_dims(dims, have)
                case PrimStructInfo(value=TirVar() as var) if prim_dtype(have) == want.dtype:
                    self.frame.shapes.setdefault(var, have)
                case _:
                    pass

    def _bind_dims(self, dims: tuple[PrimExpr, ...], found: Sequence[int]) -> None:
        for dim, size in zip(dims, found):
            if isinstance(dim, TirVar):
                self.frame.shapes.setdefault(dim, int(size))

    # ------------------------------------------------------------------------------------------------ categories

    def _tuple(self, value: Any, length: int, place: str) -> None:
        if not isinstance(value, tuple) or isinstance(value, ShapeTuple):
            self._wrong(place, f"a tuple of {length} fields", value)
        if len(value) != length:
            self._wrong(place, f"a tuple of {length} fields", value)

    def _array(self, value: Any, place: str) -> tuple[int, ...]:
        if not isinstance(value, NDArray):
            self._wrong(place, "a tensor", value)
        return value.shape

    def _shape_value(self, value: Any, place: str) -> tuple[int, ...]:
        if not isinstance(value, ShapeTuple):
            self._wrong(place, "a shape", value)
        return value

    def _rank(self, found: Sequence[int], ndim: int, place: str) -> None:
        if len(found) != ndim:
            raise fail(CHECK, f"{place} has {len(found)} dimensions ({_dims(found)}), expected {ndim}")

    def _tensor(self, value: Any, info: TensorStructInfo, place: str) -> None:
        shape = self._array(value, place)
        if info.vdevice is not None:
            info.vdevice.check_present(place)
        if info.ndim != -1:
            self._rank(shape, info.ndim, place)
        if not info.dtype.is_void and value.dtype != info.dtype:
            raise fail(CHECK, f"{place} has dtype {value.dtype}, expected {info.dtype}")
        if isinstance(info.shape, ShapeExpr):
            self._match_dims(shape, info.shape.values, place)
        elif isinstance(info.shape, Var):
            held = self.frame.values.get(info.shape)
            if held is not None and tuple(held) != tuple(shape):
                raise fail(
                    CHECK,
                    f"{place} has shape {_dims(shape)}, expected {_dims(held)} as {info.shape.name_hint} holds",
                )

    def _shape(self, value: Any, info: ShapeStructInfo, place: str) -> None:
        found = self._shape_value(value, place)
        if info.ndim != -1:
            self._rank(found, info.ndim, place)
        if info.values is not None:
            self._match_dims(found, info.values, place)

    def _match_dims(self, found: Sequence[int], dims: tuple[PrimExpr, ...], place: str) -> None:
        self._rank(found, len(dims), place)
        for axis, (size, dim) in enumerate(zip(found, dims)):
            if isinstance(dim, TirVar) and self.bind and dim not in self.frame.shapes:
                self.frame.shapes[dim] = int(size)
                continue
            wanted = self._known(dim)
            if wanted is not None and int(wanted) != int(size):
                text = repr(dim) if prim_vars(dim) else ""
                raise fail(
                    CHECK,
                    f"dimension {axis} of {place} is {size}, expected {wanted}{f' ({text})' if text else ''}",
                )

    def _known(self, dim: PrimExpr) -> Any:
        """A scalar's value; None where a variable in it has none (a type's own variable)."""
        if any(v not in self.frame.shapes for v in prim_vars(dim)):
            return None
        return self.frame.scalar(dim)

    def _prim(self, value: Any, info: PrimStructInfo, place: str) -> None:
        dtype = prim_dtype(value)
        if dtype is None:
            self._wrong(place, f"a prim value of dtype {info.dtype}", value)
        if dtype != info.dtype:
            raise fail(CHECK, f"{place} is a prim value of dtype {dtype}, expected {info.dtype}")
        if info.value is None:
            return
        if isinstance(info.value, TirVar) and self.bind and info.value not in self.frame.shapes:
            self.frame.shapes[info.value] = value
            return
        wanted = self._known(info.value)
        if wanted is not None and not same_number(wanted, value):
            raise fail(CHECK, f"{place} is {value}, expected {wanted}")

    # ------------------------------------------------------------------------------------------------- functions

    def _function(self, value: Any, info: FuncStructInfo, place: str) -> None:
        if isinstance(value, Closure):
            self._closure(value, value.info, info, place)
        elif isinstance(value, PackedFunc) or callable(value):
            if info.params is not None:
                self._wrong(place, f"a closure {info!r}", value)
        else:
            self._wrong(place, "a function", value)

    def _closure(self, value: Any, have: Any, info: FuncStructInfo, place: str) -> None:
        """A closure is compared by its run-time structural information (RELAX-RTSI)."""
        if info.params is None:
            if info.derive_func is not None:
                raise fail(CHECK, f"{place} is the closure {value.name}, expected a packed function")
            return
        if not isinstance(have, FuncStructInfo):
            return
        want = self.concrete(info)
        prover = Analyzer()
        if is_subtype(have, want, prover) is Answer.NO:
            raise fail(CHECK, f"{place} is a function {have!r}, expected {want!r}")

    def concrete(self, info: StructInfo) -> StructInfo:
        """`info` with the shape variables bound here replaced by their values."""
        shapes = self.frame.shapes
        known = {v: literal(shapes[v], v.dtype) for v in tir_vars_in_struct_info(info) if v in shapes}
        return substitute_info(info, known, Analyzer())

    def _wrong(self, place: str, expected: str, value: Any) -> NoReturn:
        raise fail(CHECK, f"{place}: expected {expected}, found {describe_value(value)}")


def as_said(value: Any, call: Call, frame: Frame) -> Any:
    """The result of a call, checked against what was deduced beforehand. Where little was known of the operands, the
    rule assumed the usual case, and this check confirms it.
    """
    said = call.struct_info_
    if said is not None:
        name = getattr(call.op, "name", None) or getattr(call.op, "global_symbol", "a function")
        Checker(frame, bind=False).cast(value, said, f"the result of {name}")
    return value


def claimed(value: Any, call: Call, frame: Frame) -> Any:
    """The result of a function, checked against its declared StructInfo, which nothing has verified.

    Unit is not checked: calls for their effect are declared so, whatever they return; nor is what nothing reads.
    """
    said = call.struct_info_
    if call in frame.unread:
        return value
    if is_of_host(call):
        value = numbers_as_declared(value, said)
    if not is_claimed(call) or (isinstance(said, TupleStructInfo) and not said.fields):
        return value
    return as_said(value, call, frame)


def numbers_as_declared(value: Any, info: StructInfo | None) -> Any:
    """A host's value with its numbers, those in tuples too, as the prim values that `info` declares."""
    match info:
        case PrimStructInfo(dtype=dtype):
            return as_declared(value, dtype)
        case TupleStructInfo(fields=fields) if type(value) is tuple and len(value) == len(fields):
            return tuple([numbers_as_declared(v, f) for v, f in zip(value, fields)])
        case _:
            return value


def describe_value(value: Any) -> str:
    """What a value is, in messages."""
    return f"the kernel {value.name}" if isinstance(value, PrimFuncValue) else describe(value)


def _binds(info: StructInfo) -> bool:
    todo = [info]
    while todo:
        part = todo.pop()
        match part:
            case TupleStructInfo(fields=fields):
                todo.extend(fields)
            case TensorStructInfo(shape=ShapeExpr(values=dims)) | ShapeStructInfo(values=tuple() as dims):
                if _any_var(dims):
                    return True
            case PrimStructInfo(value=TirVar()):
                return True
            case _:
                pass
    return False


def _any_var(dims: tuple[PrimExpr, ...]) -> bool:
    return any(isinstance(d, TirVar) for d in dims)


def _dims(found: Sequence[int]) -> str:
    return f"({', '.join(map(str, found))}{',' if len(found) == 1 else ''})"
