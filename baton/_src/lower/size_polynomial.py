"""Sizes as polynomials over shape variables, so that two symbolic sizes can be compared.

    768 * n * s * 4   covers   64 * s * n           (every coefficient is at least as large; variables are >= 0)
    8 * ((n - 7) // 4 + 1)   does not cover   8     (the quotient may be negative while the size is not)

A subexpression that is not a sum of products (a division, a minimum) counts as a variable of its own.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.structural_hash import structural_hash
from baton._src.ir.traverse import children, post_order
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import Add, Cast, FloorDiv, FloorMod, IntImm, Max, Min, Mul, Sub, Var, literal
from baton._src.tir.operators import add, floordiv, multiply
from baton._src.values.dtype import INT64

Monomial = tuple[PrimExpr, ...]
"""Atoms in the order in which they were met first; an atom may occur several times. () is the constant term."""


class Atoms:
    """What polynomials that are compared share: one object for all equal atoms, and an order of the atoms. `signed`
    variables may be negative: no dim of a tensor is such a variable itself.
    """

    def __init__(self, signed: Container[Var] = ()) -> None:
        self._signed = signed
        self._alike: dict[int, list[PrimExpr]] = {}
        self._numbers: dict[PrimExpr, int] = {}
        self._natural: dict[PrimExpr, bool] = {}
        """Whether expressions are certainly not negative."""

    def one(self, atom: PrimExpr) -> PrimExpr:
        """The first atom that was equal to this one."""
        if atom in self._numbers:
            return atom
        alike = self._alike.setdefault(structural_hash(atom), [])
        for known in alike:
            if structural_equal(known, atom):
                return known
        alike.append(atom)
        self._numbers[atom] = len(self._numbers)
        return atom

    def monomial(self, left: Monomial, right: Monomial) -> Monomial:
        """The product of two."""
        return tuple(sorted((*left, *right), key=self._numbers.__getitem__))

    def covers(self, size: Polynomial, other: Polynomial) -> bool:
        """Whether `size` is provably >= `other`, both of which are sizes: not negative as a whole, though parts may be.

        It is if nothing in `size - r * other` is negative for some r >= 1: 1, or how often a term of `other` is in
        `size`.
        """
        shared = ((c, other.terms[m]) for m, c in size.terms.items() if m in other.terms)
        ratios = [(abs(a), abs(b)) for a, b in shared if a * b > 0 and abs(a) > abs(b)]
        return any(self._exceeds(size, other, *ratio) for ratio in ((1, 1), *ratios))

    def _exceeds(self, size: Polynomial, other: Polynomial, times: int, once: int) -> bool:
        """Whether nothing in `once * size - times * other` is negative."""
        terms = {m: once * size.terms.get(m, 0) - times * other.terms.get(m, 0) for m in {**size.terms, **other.terms}}
        return self.is_natural(Polynomial(_clean(terms)))

    def is_natural(self, size: Polynomial) -> bool:
        """Whether `size` is certainly not negative."""
        return all(c > 0 and all(map(self._is_natural_atom, m)) for m, c in size.terms.items())

    def _is_natural_atom(self, atom: PrimExpr) -> bool:
        """Whether an atom is certainly not negative."""
        known = self._natural
        for node in post_order(atom, below=lambda n: [] if n in known else children(n)):
            if node not in known:
                known[node] = self._is_natural_node(node)
        return known[atom]

    def _is_natural_node(self, node: PrimExpr) -> bool:
        """As `_is_natural_atom`, if that is known of the operands."""
        known = self._natural
        match node:
            case IntImm(value=value):
                return value >= 0
            case Var():
                return node not in self._signed
            case FloorDiv(a, IntImm(value=divisor)) if divisor > 0:
                return self.is_natural(to_polynomial(a, self))
            case FloorMod(_, IntImm(value=divisor)):
                return divisor > 0
            case Add(a, b) | Mul(a, b) | Min(a, b):
                return known[a] and known[b]
            case Max(a, b):
                return known[a] or known[b]
            case Cast(value=value) if node.dtype == INT64:
                return known[value]
            case _:
                return False


@dataclass(frozen=True)
class Polynomial:
    """Coefficients by monomial; none is zero."""

    terms: Mapping[Monomial, int]

    def plus(self, other: Polynomial) -> Polynomial:
        """The sum; both have the same `Atoms`."""
        return Polynomial(_sum(self.terms, other.terms, 1))

    def to_expr(self) -> PrimExpr:
        """The polynomial as an int64 expression."""
        total: PrimExpr = literal(0, INT64)
        for monomial, coefficient in self.terms.items():
            product: PrimExpr = literal(coefficient, INT64)
            for atom in monomial:
                product = multiply(atom if atom.dtype == INT64 else Cast(INT64, atom), product)
            total = add(total, product)
        return total


def rounded_up(size: Polynomial, multiple: int) -> PrimExpr:
    """The size, rounded up to a multiple."""
    exact = size.to_expr()
    if all(c % multiple == 0 for c in size.terms.values()):
        return exact
    return multiply(floordiv(add(exact, multiple - 1), multiple), multiple)


def to_polynomial(expr: int | PrimExpr, atoms: Atoms | None = None) -> Polynomial:
    """`expr` as a polynomial. Its atoms are variables and all other subexpressions that are not sums or products.

    Polynomials that are compared need the same `atoms`.
    """
    known = atoms or Atoms()
    if isinstance(expr, int):
        return Polynomial(_clean({(): expr}))
    found: dict[Node, dict[Monomial, int]] = {}
    for node in post_order(expr, below=lambda n: children(n) if isinstance(n, (Add, Sub, Mul)) else []):
        match node:
            case IntImm(value=value):
                found[node] = _clean({(): value})
            case Add(a, b):
                found[node] = _sum(found[a], found[b], 1)
            case Sub(a, b):
                found[node] = _sum(found[a], found[b], -1)
            case Mul(a, b):
                found[node] = _product(found[a], found[b], known)
            case Cast(value=value) if isinstance(value, Var) and node.dtype == INT64:
                found[node] = {(known.one(value),): 1}
            case _:
                found[node] = {(known.one(node),): 1}
    return Polynomial(found[expr])


def is_natural(size: PrimExpr, signed: Container[Var] = ()) -> bool:
    """Whether a size is certainly not negative; variables are >= 0, except those that are `signed`."""
    atoms = Atoms(signed)
    return atoms.is_natural(to_polynomial(size, atoms))


def is_never_negative(size: PrimExpr) -> bool:
    """Whether this is certain, as variables are >= 0, and the size only grows with them."""
    terms = to_polynomial(size).terms
    return all(c >= 0 and all(isinstance(atom, Var) for atom in monomial) for monomial, c in terms.items())


def _clean(terms: dict[Monomial, int]) -> dict[Monomial, int]:
    return {m: c for m, c in terms.items() if c}


def _sum(a: Mapping[Monomial, int], b: Mapping[Monomial, int], sign: int) -> dict[Monomial, int]:
    total = dict(a)
    for monomial, coefficient in b.items():
        total[monomial] = total.get(monomial, 0) + sign * coefficient
    return _clean(total)


def _product(a: Mapping[Monomial, int], b: Mapping[Monomial, int], atoms: Atoms) -> dict[Monomial, int]:
    total: dict[Monomial, int] = {}
    for left, x in a.items():
        for right, y in b.items():
            monomial = atoms.monomial(left, right)
            total[monomial] = total.get(monomial, 0) + x * y
    return _clean(total)
