"""The relations of StructInfos read off the rules' tables, for tests to compare the real ones with.

Nothing is shared with the checker: dims are polynomials, each rule is a line or
two of recursion, substitution rebuilds everything. Only `+`, `-` and `*` of variables and numbers are dims here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import product
from math import gcd
from typing import Any

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
from baton._src.tir.expr import Add, IntImm, Mul, Sub
from baton._src.tir.expr import Var as TirVar

NO, MAYBE, YES = 0, 1, 2
Dims = tuple[Any, ...] | None


def subtype(lower: StructInfo, upper: StructInfo) -> int:
    """`lower <: upper`, by the table of relax-language §2."""
    return _related(lower, upper, NO)


def compatible(given: StructInfo, expected: StructInfo) -> int:
    """May `given` stand for `expected`, by the steps of relax-language §4."""
    return _related(given, expected, MAYBE)


def _related(have: Any, want: Any, left_open: int) -> int:
    if isinstance(want, ObjectStructInfo):
        return YES
    if type(have) is not type(want):
        return NO
    match want:
        case PrimStructInfo():
            if have.dtype != want.dtype:
                return NO
            return _dims(_one(have.value), _one(want.value), left_open)
        case ShapeStructInfo():
            return min(_rank(have, want, left_open), _dims(have.values, want.values, left_open))
        case TensorStructInfo():
            parts = [_rank(have, want, left_open), _dims(_shape(have), _shape(want), left_open)]
            parts.append(_known(have.vdevice, want.vdevice, None, left_open))
            return min(*parts, _known(str(have.dtype), str(want.dtype), "void", left_open))
        case TupleStructInfo():
            if len(have.fields) != len(want.fields):
                return NO
            return min([YES, *(_related(h, w, left_open) for h, w in zip(have.fields, want.fields))])
        case _:
            return _functions(have, want, left_open)


def _functions(have: Any, want: Any, left_open: int) -> int:
    if (want.purity and not have.purity) or (have.params is None) != (want.params is None):
        return NO
    if have.params is None:
        return YES if want.derive_func in (have.derive_func, empty_derive) else left_open
    if len(have.params) != len(want.params):
        return NO
    have = _specialised(have, want)
    taken = _without_open(have.params, _free(want))
    parts = [_related(w, h, left_open) for h, w in zip(taken, want.params)]  # contravariant
    return min([_related(have.ret, want.ret, left_open), *parts])


def join(a: Any, b: Any) -> StructInfo:
    """The least upper bound, by the table of relax-language §3."""
    if type(a) is not type(b) or isinstance(a, ObjectStructInfo):
        return ObjectStructInfo()
    match a:
        case PrimStructInfo():
            if a.dtype != b.dtype:
                return ObjectStructInfo()
            return PrimStructInfo(a.dtype, a.value if _same(_one(a.value), _one(b.value)) else None)
        case ShapeStructInfo():
            if a.ndim != b.ndim:
                return ShapeStructInfo()
            return a if _same(a.values, b.values) else ShapeStructInfo(ndim=a.ndim)
        case TensorStructInfo():
            dtype = a.dtype if a.dtype == b.dtype else "void"
            device = a.vdevice if a.vdevice == b.vdevice else None
            if _same(_shape(a), _shape(b)):
                return TensorStructInfo(a.shape, dtype, device)
            return TensorStructInfo(None, dtype, device, a.ndim if a.ndim == b.ndim else -1)
        case TupleStructInfo():
            if len(a.fields) != len(b.fields):
                return ObjectStructInfo()
            return TupleStructInfo([join(x, y) for x, y in zip(a.fields, b.fields)])
        case _:
            return _join_functions(a, b)


def _join_functions(a: FuncStructInfo, b: FuncStructInfo) -> StructInfo:
    purity = a.purity and b.purity
    if a.params is None and b.params is None:
        derive = a.derive_func if a.derive_func is b.derive_func else empty_derive
        return FuncStructInfo.opaque_func(derive_func=derive, purity=purity)
    if a.params is None or b.params is None or len(a.params) != len(b.params):
        return ObjectStructInfo()
    for lower, upper in ((a, b), (b, a)):
        if subtype(lower, upper) == YES:
            return upper
    for kept, moved in ((a, b), (b, a)):
        moved = _specialised(moved, kept)
        if all(subtype(x, y) == subtype(y, x) == YES for x, y in zip(kept.params or (), moved.params)):
            return FuncStructInfo(kept.params, join(kept.ret, moved.ret), purity)
    return ObjectStructInfo()


# ------------------------------------------------------------------------------------------------ components


def _known(have: object, want: object, unknown: object, left_open: int) -> int:
    if want == unknown:
        return YES
    return left_open if have == unknown else YES if have == want else NO


def _rank(have: Any, want: Any, left_open: int) -> int:
    return _known(have.ndim, want.ndim, -1, left_open)


def _shape(info: TensorStructInfo) -> Dims:
    return None if info.shape is None else info.shape.values


def _one(value: Any) -> Dims:
    return None if value is None else (value,)


def _same(left: Dims, right: Dims) -> bool:
    return left is not None and right is not None and _dims(left, right, NO) == YES


def _dims(have: Dims, want: Dims, left_open: int) -> int:
    if want is None:
        return YES
    if have is None:
        return left_open
    if len(have) != len(want):
        return NO
    return min([YES, *(_dim(h, w) for h, w in zip(have, want))])


def _dim(a: Any, b: Any) -> int:
    """YES for one polynomial; NO if the numbers in it differ by no multiple of what all its other terms share."""
    difference = polynomial(a)
    difference.subtract(polynomial(b))
    number = difference.pop((), 0)
    shared = gcd(*difference.values())
    if not shared:
        return NO if number else YES
    return NO if number % shared else MAYBE


def polynomial(dim: Any) -> Counter[tuple[str, ...]]:
    """The coefficient of each product of variables."""
    match dim:
        case int() | IntImm():
            return Counter({(): dim if isinstance(dim, int) else dim.value})
        case TirVar():
            return Counter({(dim.name,): 1})
        case Mul():
            found: Counter[tuple[str, ...]] = Counter()
            for (x, c), (y, d) in product(polynomial(dim.a).items(), polynomial(dim.b).items()):
                found[tuple(sorted(x + y))] += c * d
            return found
        case Add() | Sub():
            found = polynomial(dim.a)
            (found.update if isinstance(dim, Add) else found.subtract)(polynomial(dim.b))
            return found
        case _:
            raise TypeError(f"{dim!r} is no polynomial")


# ------------------------------------------------------------------------------------------ shape variables


def _specialised(function: Any, to: Any) -> Any:
    """`function` with the variables standing alone in its parameters replaced by what `to` has there."""
    mapping: dict[TirVar, Any] = {}
    for param, given in zip(function.params, to.params):
        _collect(param, given, mapping)
    return substituted(function, {v: d for v, d in mapping.items() if v not in _free(to)})


def _without_open(params: Any, outer: set[TirVar]) -> list[Any]:
    """Shapes that take every argument are unknown: variables alone that occur nowhere else and have no value yet."""
    uses = Counter(v for p in params for d in _every_dim(p) for v in set(_variables(d)))

    def taken(info: Any) -> Any:
        if isinstance(info, TupleStructInfo):
            return TupleStructInfo([taken(f) for f in info.fields])
        dims = () if isinstance(info, FuncStructInfo) else _every_dim(info)
        if not dims or any(not isinstance(d, TirVar) or uses[d] > 1 or d in outer for d in dims):
            return info
        if isinstance(info, PrimStructInfo):
            return PrimStructInfo(info.dtype)
        if isinstance(info, ShapeStructInfo):
            return ShapeStructInfo(ndim=info.ndim)
        return TensorStructInfo(None, info.dtype, info.vdevice, info.ndim)

    return [taken(p) for p in params]


def _every_dim(info: Any) -> tuple[Any, ...]:
    match info:
        case TupleStructInfo():
            return tuple(d for f in info.fields for d in _every_dim(f))
        case FuncStructInfo():
            return tuple(d for part in (*(info.params or ()), info.ret) for d in _every_dim(part))
        case TensorStructInfo():
            return tuple(_shape(info) or ())
        case ShapeStructInfo():
            return tuple(info.values or ())
        case PrimStructInfo():
            return tuple(_one(info.value) or ())
        case _:
            return ()


def _free(info: Any) -> set[TirVar]:
    """The variables that a function type does not bind: they belong to the scope that both types are in."""
    match info:
        case TupleStructInfo(fields=parts):
            return set().union(*map(_free, parts))
        case FuncStructInfo(params=tuple() as params):
            bound: dict[TirVar, Any] = {}
            for param in params:
                _collect(param, param, bound)
            return set().union(_free(info.ret), *map(_free, params)) - set(bound)
        case TensorStructInfo():
            dims = _shape(info)
        case ShapeStructInfo():
            dims = info.values
        case PrimStructInfo():
            dims = _one(info.value)
        case _:
            return set()
    return {v for d in dims or () for v in _variables(d)}


def _collect(param: Any, given: Any, mapping: dict[TirVar, Any]) -> None:
    if type(param) is not type(given):
        return
    match param:
        case TupleStructInfo() if len(param.fields) == len(given.fields):
            for p, g in zip(param.fields, given.fields):
                _collect(p, g, mapping)
        case TensorStructInfo():
            _bind(_shape(param), _shape(given), mapping)
        case ShapeStructInfo():
            _bind(param.values, given.values, mapping)
        case PrimStructInfo() if param.dtype == given.dtype:
            _bind(_one(param.value), _one(given.value), mapping)
        case _:
            pass


def _bind(params: Dims, given: Dims, mapping: dict[TirVar, Any]) -> None:
    if params is not None and given is not None and len(params) == len(given):
        for param, value in zip(params, given):
            if isinstance(param, TirVar):
                mapping.setdefault(param, value)


def substituted(info: Any, mapping: Mapping[TirVar, Any]) -> Any:
    """`info` rebuilt with variables replaced."""

    def dims(values: Dims) -> list[Any] | None:
        return None if values is None else [_replaced(v, mapping) for v in values]

    def all_of(infos: Iterable[Any]) -> list[Any]:
        return [substituted(i, mapping) for i in infos]

    match info:
        case PrimStructInfo(value=value) if value is not None:
            return PrimStructInfo(info.dtype, _replaced(value, mapping))
        case ShapeStructInfo():
            return ShapeStructInfo(dims(info.values), info.ndim)
        case TensorStructInfo():
            return TensorStructInfo(dims(_shape(info)), info.dtype, info.vdevice, info.ndim)
        case TupleStructInfo():
            return TupleStructInfo(all_of(info.fields))
        case FuncStructInfo(params=tuple() as params):
            return FuncStructInfo(all_of(params), substituted(info.ret, mapping), info.purity)
        case _:
            return info


def _replaced(dim: Any, mapping: Mapping[TirVar, Any]) -> Any:
    if isinstance(dim, TirVar):
        return mapping.get(dim, dim)
    if isinstance(dim, (Add, Sub, Mul)):
        return plain(type(dim)(_replaced(dim.a, mapping), _replaced(dim.b, mapping)))
    return dim


def plain(dim: Any) -> Any:
    """The dim, as a variable alone where it is equal to one: that is what parameters bind."""
    return next((v for v in _variables(dim) if _dim(v, dim) == YES), dim)


def _variables(dim: Any) -> list[TirVar]:
    if isinstance(dim, (Add, Sub, Mul)):
        return _variables(dim.a) + _variables(dim.b)
    return [dim] if isinstance(dim, TirVar) else []
