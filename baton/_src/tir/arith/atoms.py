"""Atoms, the indeterminates of polynomials: variables, quotients, remainders, extrema, conditions, opaque expressions.

Atoms are interned: equal keys give one number, so equality of polynomials is equality of dicts. Each stores its
expression, built when it is interned, so that converting a polynomial back to an expression never recurses.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.dataclass import dataclass
from baton._src.tir import operators
from baton._src.tir.arith.polynomial import Key, Monomial, Poly, key, shift
from baton._src.tir.expr import literal
from baton._src.values.dtype import DataType


@dataclass(frozen=True, slots=True)
class Atom:
    """`kind`: `var`, `div`, `mod`, `tdiv` and `tmod` (toward zero), `vector` (base and stride), `min`, `max`, `select`,
    `bit_and`, `bit_or`, `bit_xor`, of conditions `ge0` (args[0] is >= 0), `eq0`, `and`, `or`, `not`; or `opaque`."""

    index: int
    kind: str
    args: tuple[Poly, ...]
    dtype: DataType
    expr: PrimExpr


class DoesNotFit(Exception):
    """A canonical form has a number that its dtype cannot hold: the expression has to stay as it was written."""


class AtomTable:
    """All atoms interned so far, by key and by number."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self._known: dict[Any, int] = {}
        self.wraps = False
        """Whether integers read from memory are taken to wrap (see `wrapping`)."""
        self.data_variables: set[int] = set()
        """Variables whose value is computed of such integers."""
        self._data: list[bool] = []
        """By atom, as far as it was asked: whether it has such an integer in it."""
        self._emitted: dict[tuple[Key, DataType], PrimExpr] = {}

    def __getitem__(self, index: int) -> Atom:
        return self.atoms[index]

    def find(self, identity: Any) -> int | None:
        """The number of the atom with this key, if it was met."""
        return self._known.get(identity)

    def intern(
        self, identity: Any, kind: str, args: tuple[Poly, ...], dtype: DataType, make: Callable[[], PrimExpr]
    ) -> int:
        """The number of the atom with this key; `make` gives its expression if it is new."""
        index = self._known.get(identity)
        if index is None:
            expr = make()
            index = self._known[identity] = len(self.atoms)
            self.atoms.append(Atom(index, kind, args, dtype, expr))
        return index

    def has_data(self, poly: Poly) -> bool:
        """Whether an integer that was read from memory, and may be any, is part of the polynomial."""
        known = self._data
        for atom in self.atoms[len(known) :]:  # an atom's parts are older than it is
            if atom.kind == "var":
                known.append(atom.index in self.data_variables)
            elif atom.kind == "opaque":
                known.append(not atom.dtype.is_bool)
            else:
                known.append(not atom.dtype.is_bool and any(known[i] for part in atom.args for m in part for i in m))
        return any(known[i] for m in poly for i in m)

    def emit(self, poly: Poly, dtype: DataType) -> PrimExpr:
        """The polynomial as an expression: products in order of their atoms, the constant last, no leading minus.

        Raises `DoesNotFit`.
        """
        identity = (key(poly), dtype)
        found = self._emitted.get(identity)
        if found is None:
            found = self._emitted[identity] = self._sum(poly, dtype)
        return found

    def _sum(self, poly: Poly, dtype: DataType) -> PrimExpr:
        number = poly.get((), 0)
        terms = sorted((m for m in poly if m), key=_emission_order)
        if not terms:
            return _number(number, dtype)
        moved = self._moved_inside(terms, poly, dtype) if number and len(terms) == 1 else None
        if moved is not None:
            return moved
        positive = [m for m in terms if poly[m] > 0]
        if not positive and number > 0:
            total, rest, number = _number(number, dtype), terms, 0
        else:
            first = positive[0] if positive else terms[0]
            total = self._product(first, poly[first], dtype)
            rest = [m for m in terms if m is not first]
        for monomial in rest:
            coefficient = poly[monomial]
            part = self._product(monomial, abs(coefficient), dtype)
            total = operators.add(total, part) if coefficient > 0 else operators.subtract(total, part)
        if number == 0:
            return total
        if number < 0:
            return operators.subtract(total, _number(-number, dtype))
        return operators.add(total, _number(number, dtype))

    def _moved_inside(self, terms: list[Monomial], poly: Poly, dtype: DataType) -> PrimExpr | None:
        """max(x, -5) + 5 as max(x + 5, 0), which fits wherever the sum does; None for anything else."""
        atom, number = self.atoms[terms[0][0]], poly[()]
        if len(terms[0]) > 1 or poly[terms[0]] != 1 or atom.kind != ("max" if number > 0 else "min"):
            return None
        if {(): -number} not in atom.args or (self.wraps and self.has_data(poly)):
            return None
        combine = operators.max if number > 0 else operators.min
        return functools.reduce(combine, [self.emit(shift(part, number), dtype) for part in atom.args])

    def _product(self, monomial: Monomial, coefficient: int, dtype: DataType) -> PrimExpr:
        found: PrimExpr | None = None
        for index in monomial:
            factor = operators.cast(dtype, self.atoms[index].expr)
            found = factor if found is None else operators.multiply(found, factor)
        assert found is not None
        return found if coefficient == 1 else operators.multiply(found, _number(coefficient, dtype))


def _number(value: int, dtype: DataType) -> PrimExpr:
    if dtype.is_int and not dtype.int_range[0] <= value <= dtype.int_range[1]:
        raise DoesNotFit(f"{value} is no {dtype}")
    return literal(value, dtype)


def _emission_order(monomial: Monomial) -> tuple[int, ...]:
    return monomial
