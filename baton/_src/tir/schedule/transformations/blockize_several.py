"""Turn consecutive blocks, with the loops around each, into one block.

for i: {for j: block B (vi = i, vj = j): ..; for j: block C (vi = i, vj = j): ..}
    ->  for i: block outer_B_C_ (vi_o = i, vj_o = 0): {for j: block B (vj_i = j): ..; for j: block C (vj_i = j): ..}
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.tir import stmt as st
from baton._src.tir.schedule.transformations.blockize import Divided, divided
from baton._src.tir.schedule.tree import (
    find_block,
    is_equal,
    path_to,
    realizes,
    refreshed,
    refuse,
    replace,
    unused_name,
)


def blockize_several(root: st.Stmt, names: Sequence[str], preserve_unit_iters: bool = True) -> tuple[st.Stmt, str]:
    """The blocks of these names, which follow each other, as a block `outer_<names>_`.

    Its axes are those of the blocks outside of their own loops, which must be the same for all of them. None of them
    may initialise a reduction: that would have to stand in front of all.
    """
    found = [find_block(root, name) for name in names]
    starting = next((r.block.name_hint for r in found if r.block.init is not None), None)
    if len(set(found)) < max(2, len(found)):
        raise refuse("blockize takes two different blocks or more in a list", help="one block: give a loop around it")
    if starting is not None:
        raise refuse(f"block {starting} initialises a reduction", help="decompose_reduction before")
    sequence, nests = _nests(root, found)
    parts: list[Divided] = []
    for nest, realize in zip(nests, found):
        below = [item for item in path_to(nest, realize) if isinstance(item, st.For)]
        parts.append(divided(realize, below, preserve_unit_iters, parts[0].outer if parts else ()))
        _require_alike(parts[0], parts[-1], found[0], realize)
    first = parts[0]
    pairs = {nest: replace(nest, {r: part.realize}) for nest, r, part in zip(nests, found, parts)}
    body = st.SeqStmt(tuple(pairs[s] for s in sequence.seq if s in pairs))
    label = unused_name(root, f"outer_{'_'.join(r.block.name_hint for r in found)}_")
    made = st.BlockRealize(first.outside, first.condition, refreshed(st.Block(first.outer, (), (), label, body)))
    place = list(sequence.seq).index(next(s for s in sequence.seq if s in pairs))
    whole: list[st.Stmt] = [s for s in sequence.seq if s not in pairs]
    whole.insert(place, made)
    return replace(root, {sequence: whole[0] if len(whole) == 1 else st.SeqStmt(tuple(whole))}), label


def _nests(root: st.Stmt, found: Sequence[st.BlockRealize]) -> tuple[st.SeqStmt, list[st.Stmt]]:
    """The sequence that the blocks share, and the statement of each in it, which holds loops and that block only."""
    paths = [path_to(root, realize) for realize in found]
    depth = 0
    while all(len(path) > depth and path[depth] is paths[0][depth] for path in paths):
        depth += 1
    sequence = paths[0][depth - 1]
    if not isinstance(sequence, st.SeqStmt) or any(len(path) <= depth for path in paths):
        raise refuse("blockize takes blocks beside each other: one of these is inside of another")
    nests = [path[depth] for path in paths]
    for nest, path, realize in zip(nests, paths, found):
        if not all(isinstance(item, st.For) for item in path[depth:-1]) or len(set(nests)) < len(nests):
            raise refuse(f"block {realize.block.name_hint} has no loops of its own, with nothing else inside")
        if _siblings(nest, realize):
            raise refuse(f"the loops around block {realize.block.name_hint} hold other blocks, too")
    places = sorted(list(sequence.seq).index(nest) for nest in nests)
    if places != list(range(places[0], places[0] + len(places))):
        raise refuse("blockize takes blocks that follow each other", help="other statements stand between these")
    return sequence, nests


def _siblings(nest: st.Stmt, realize: st.BlockRealize) -> list[st.BlockRealize]:
    own = {realize, *realizes(realize.block.body)}
    return [r for r in realizes(nest) if r not in own]


def _require_alike(one: Divided, other: Divided, first: st.BlockRealize, second: st.BlockRealize) -> None:
    """Refuse blocks that do not have the same axes outside, with the same values."""
    names = f"{first.block.name_hint} and {second.block.name_hint}"
    same = len(one.outer) == len(other.outer) and all(
        a.iter_type == b.iter_type and _equal(a.extent, b.extent) for a, b in zip(one.outer, other.outer)
    )
    if not same or not all(map(_equal, one.outside, other.outside)):
        raise refuse(f"blocks {names} have different axes outside of their own loops: {_shown(one)}, {_shown(other)}")
    if not _equal(one.condition, other.condition):
        raise refuse(f"blocks {names} run under different conditions")


def _shown(parts: Divided) -> str:
    return ", ".join(f"{axis.var.name} < {axis.extent}" for axis in parts.outer) or "none"


def _equal(one: PrimExpr, other: PrimExpr) -> bool:
    return structural_equal(one, other) if one.dtype.is_bool else is_equal(one, other)
