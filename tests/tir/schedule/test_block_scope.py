"""Dependencies between blocks, and the options of schedules that scripts pass."""

from __future__ import annotations

import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.schedule.conditions.block_scope import Dependency, DepKind
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.schedule.srefs import StmtSRef
from baton._src.tir.schedule.state import BlockDependenceInfo
from baton._src.tir.stmt import Block
from baton.script import from_source

CHAIN = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("first"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    for i in range(8):
        with T.block("second"):
            v = T.axis.spatial(8, i)
            C[v] = B[v]
    for i in range(8):
        with T.block("third"):
            v = T.axis.spatial(8, i)
            B[v] = T.float32(0)
"""


def test_kinds_of_dependencies() -> None:
    """Guards each kind, seen from both ends."""
    s = Schedule(from_source(CHAIN))
    info = BlockDependenceInfo(s.mod)
    first, second, third, root = (s.get_sref(s.get(name)) for name in ("first", "second", "third", "root"))
    assert info.get_sref(s.get("first")) == first
    scope = info.get_block_scope(root)
    assert s.state.get_block_scope(root) == scope

    def ends(found: list[Dependency]) -> list[tuple[str, DepKind]]:
        return [(d.dst.stmt.name_hint, d.kind) for d in found if isinstance(d.dst.stmt, Block)]

    assert ends(scope.get_deps_by_src(first)) == [("second", DepKind.RAW), ("third", DepKind.WAW)]
    assert ends(scope.get_deps_by_src(second)) == [("third", DepKind.WAR)]
    assert [d.src for d in scope.get_deps_by_dst(third)] == [first, second]
    assert scope.get_deps_by_dst(first) == []


def test_what_has_no_scope() -> None:
    s = Schedule(from_source(CHAIN))
    loop = s.get_sref(s.get_loops("first")[0])
    info = BlockDependenceInfo(from_source(CHAIN))
    assert info.get_sref(s.get("first")) is None
    with pytest.raises(DiagnosticError, match="part of none"):
        info.get_block_scope(StmtSRef(s.get("first"), None))
    with pytest.raises(DiagnosticError):
        BlockDependenceInfo(s.mod).get_block_scope(loop)


def test_debug_masks() -> None:
    """Guards that masks are read, and slips in them said."""
    masks = [Schedule(from_source(CHAIN), debug_mask=mask).debug_mask for mask in ("all", "none", 1)]
    assert masks == [3, 0, 1]
    for wrong in ("some", 1.5, True):
        with pytest.raises(ValueError, match="debug_mask is"):
            Schedule(from_source(CHAIN), debug_mask=wrong)
