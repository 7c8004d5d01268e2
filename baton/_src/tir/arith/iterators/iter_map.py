"""Fused and split loop indices: whether indices are a bijective map of loops, and its inverse.

    [i*8 + j] for i < n, j < 8           one to one onto [0, 8n);  i = k // 8, j = k % 8
    [f // 12, f % 12] for f < 12 * n     one to one onto n x 12;   f = a * 12 + b

Every index must be a sum of `scale * ((loop // lower) % extent)` whose scales are the products of the extents below,
and the pieces must make up every loop. Sizes may be symbolic; loops start at 0.
Transposes, flattenings and most reshapes are of this kind; `iter_affine_map` takes pieces of fused loops besides, whose
sizes are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from baton._src.ir.expr import PrimExpr, Range
from baton._src.support.dataclass import dataclass
from baton._src.tir import operators
from baton._src.tir.arith import division, joins
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.canonical import canonical
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.iterators.iter_affine_map import detect_iter_map, inverse_affine_iter_map
from baton._src.tir.arith.iterators.iter_nodes import IterMapLevel
from baton._src.tir.arith.polynomial import Poly
from baton._src.tir.expr import Var


@dataclass(frozen=True, slots=True)
class _Piece:
    """The piece `(source // lower) % extent` of a loop, of which an index holds `scale` times the value."""

    source: int
    lower: Poly
    extent: Poly
    scale: Poly


class _Map:
    """The loops of one query."""

    def __init__(self, domains: Mapping[Var, Range], analyzer: Analyzer) -> None:
        self.ctx: Context = analyzer.context
        self.extents: dict[int, Poly] = {}
        self.starts_at_zero = True
        self.vars: dict[int, Var] = {}
        for var, domain in domains.items():
            extent = canonical(self.ctx, domain.extent)
            index = analyzer.atom(var)
            self.starts_at_zero &= operators.is_const(domain.min, 0)
            self.extents[index], self.vars[index] = extent, var
        for var, domain in domains.items():
            analyzer.bind(var, domain)

    def pieces(self, index: PrimExpr) -> list[_Piece] | None:
        """The pieces that an index is the sum of, the fastest first; None if it is more than these."""
        if not self.starts_at_zero:
            return None
        form = canonical(self.ctx, index)
        found: list[_Piece] = []
        for atom in p.atoms_of(form):
            piece = self._piece(atom)
            if piece is None:
                continue
            split = p.split_by_atom(form, atom)
            if split is None or not split[0]:
                return None
            scale, form = split
            found.append(_Piece(piece.source, piece.lower, piece.extent, scale))
        if form or any(self._names_loops(piece.scale) for piece in found):
            return None
        return _compact(found)

    def _names_loops(self, poly: Poly) -> bool:
        return any(self._piece(i) is not None for i in p.atoms_of(poly))

    def _piece(self, index: int) -> _Piece | None:
        """What an atom is of a loop: the loop, a quotient, a remainder, or the remainder of a quotient."""
        if index in self.extents:
            return _Piece(index, p.ONE, self.extents[index], p.ONE)
        atom = self.ctx.atoms[index]
        if atom.kind not in ("div", "mod"):
            return None
        inner = _single_atom(atom.args[0])
        base = self._piece(inner) if inner is not None else None
        if base is None:
            return None
        divisor = atom.args[1]
        whole, rest = p.divide_by(base.extent, divisor)
        if rest:
            return None
        if atom.kind == "mod":
            return _Piece(base.source, base.lower, divisor, p.ONE)
        return _Piece(base.source, p.multiply(base.lower, divisor), whole, p.ONE)


def _single_atom(poly: Poly) -> int | None:
    if len(poly) == 1:
        ((monomial, coefficient),) = poly.items()
        if coefficient == 1 and len(monomial) == 1:
            return monomial[0]
    return None


def _compact(pieces: list[_Piece]) -> list[_Piece] | None:
    """The pieces ordered so that each scale is the product of the extents before it; None if some scale is another."""
    ordered: list[_Piece] = []
    product = p.ONE
    rest = [piece for piece in pieces if piece.extent != p.ONE]
    while rest:
        following = next((piece for piece in rest if piece.scale == product), None)
        if following is None:
            return None
        rest.remove(following)
        ordered.append(following)
        product = p.multiply(product, following.extent)
    return ordered


def invert(
    indices: Sequence[PrimExpr],
    outputs: Sequence[PrimExpr],
    domains: Mapping[Var, Range],
    analyzer: Analyzer | None = None,
) -> dict[Var, PrimExpr] | None:
    """Each loop in terms of `outputs`, the values of `indices`; None unless the map is one to one.

    `invert([i * 8 + j], [k], {i: Range(0, n), j: Range(0, 8)})` is `{i: k // 8, j: k % 8}`.
    """
    found = _inverted_pieces(indices, outputs, domains, analyzer or Analyzer())
    if found is None:  # loops that are fused first, and split elsewhere
        fused = detect_iter_map(indices, domains, check_level=IterMapLevel.Bijective).indices
        dense = all(operators.is_const(arg.scale, 1) for index in fused for arg in index.args)
        dense &= all(operators.is_const(index.base, 0) for index in fused)
        found = inverse_affine_iter_map(fused, outputs) if fused and dense else None
    return found if found is not None and found.keys() == domains.keys() else None


def _inverted_pieces(
    indices: Sequence[PrimExpr], outputs: Sequence[PrimExpr], domains: Mapping[Var, Range], knows: Analyzer
) -> dict[Var, PrimExpr] | None:
    """`invert` of indices that are sums of pieces of single loops."""
    question = _Map(domains, knows)
    values: dict[int, list[tuple[_Piece, Poly]]] = {index: [] for index in question.extents}
    for index, output in zip(indices, outputs):
        pieces = question.pieces(index)
        if pieces is None:
            return None
        value = canonical(question.ctx, output)
        for position, piece in enumerate(pieces):
            part = division.floor_div(question.ctx, value, piece.scale, output.dtype)
            if position + 1 < len(pieces):
                part = division.floor_mod(question.ctx, part, piece.extent, output.dtype)
            values[piece.source].append((piece, part))
    found: dict[Var, PrimExpr] = {}
    for source, parts in values.items():
        joined = _join(parts, question.extents[source])
        if joined is None:
            return None
        var = question.vars[source]
        found[var] = question.ctx.atoms.emit(joins.recombine(question.ctx, joined, var.dtype), var.dtype)
    return found


def _join(parts: list[tuple[_Piece, Poly]], extent: Poly) -> Poly | None:
    """A loop reassembled from its pieces; None if a piece is missing or occurs twice."""
    total: Poly = {}
    lower = p.ONE
    rest = list(parts)
    while rest:
        following = next((item for item in rest if item[0].lower == lower), None)
        if following is None:
            return None
        rest.remove(following)
        total = p.add(total, p.multiply(following[1], lower))
        lower = p.multiply(lower, following[0].extent)
    return total if lower == extent else None
