"""Primitives about copies of buffers keep the meaning, and say which block they cannot treat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.index_map import IndexMap
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.schedule.traces.trace import Trace
from baton._src.tir.text.printer import script
from baton.script import from_source
from tests.tir.schedule.test_primitives import CHAIN, MATMUL, chain, matmul, same


def window() -> PrimFunc:
    """C[i] = sum of A[i + k] for k < 3."""
    a, k = placeholder((12,), name="A"), reduce_axis((0, 3), "k")
    return create_prim_func([a, compute((10,), lambda i: reduction.sum(a[i + k], k), "C")])


def test_reindex_cache_read() -> None:
    """Guards that the copy is indexed by the map, whole axes and parts of them."""
    for index_map in (lambda i, j, k: (k, i), lambda i, j, k: (i // 4, k, i % 4)):

        def change(s: Schedule, index_map: Any = index_map) -> None:
            assert s.reindex_cache_read(s.get_block("C"), 0, "local", index_map).name == "A_local"

        text = script(same(matmul(12), change, (12, 7), (7, 9), (12, 9)).func)
    assert 'A_local = T.alloc_buffer((3, 7, 4), scope="local")' in text


def test_reindex_cache_read_of_a_window() -> None:
    """Guards maps that several axes share, where they give the very index of the buffer."""
    found = same(window(), lambda s: s.reindex_cache_read("C", 0, "local", lambda i, k: (i + k,)), (12,), (10,))
    assert "A_local = T.alloc_buffer((12,)" in script(found.func)
    with pytest.raises(DiagnosticError, match="does not tell which element of A"):
        Schedule(window()).reindex_cache_read("C", 0, "local", lambda i, k: (i + 2 * k,))


def test_reindex_cache_write() -> None:
    """Guards the copy back, of a reduction too."""
    found = same(matmul(), lambda s: s.reindex_cache_write("C", 0, "global", lambda i, j, k: (j, i)), *MATMUL)
    assert "C_global = T.alloc_buffer((9, 13))" in script(found.func)
    with pytest.raises(DiagnosticError, match="different axes of block C: v_i"):
        Schedule(matmul()).reindex_cache_write("C", 0, "global", lambda i, j, k: (j,))


@pytest.mark.parametrize("depth", [0, 1])
def test_read_at_and_write_at(depth: int) -> None:
    """Guards copies made anew in each iteration."""

    def change(s: Schedule) -> None:
        s.read_at(s.get_loops("C")[depth], "C", 0, "shared")
        s.write_at(s.get_loops("C")[depth], "C", 0, "shared")

    copy = same(matmul(), change, *MATMUL).get("A_shared")
    assert dict(copy.annotations) == {"auto_copy": 1}
    assert [r.region[0].extent.value for r in (*copy.reads, *copy.writes)] == [1, 1]
    with pytest.raises(DiagnosticError, match="'far' is no storage scope"):
        Schedule(matmul()).cache_read("C", 0, "far")


def test_cache_write_that_readers_read() -> None:
    """Guards readers of the copy."""
    s = same(chain(), lambda s: s.cache_write("C", 0, "local", consumer_blocks=["D"]), *CHAIN)
    assert [r.buffer.name for r in s.get("D").reads] == ["C_local"]
    with pytest.raises(DiagnosticError, match="block B does not read C"):
        Schedule(chain()).cache_write("C", 0, "local", consumer_blocks=["B"])


def test_copies_are_for_blocks_that_read_them() -> None:
    """Guards blocks named by mistake: the copy was made before its buffer was written, and written in its place, or
    read where nothing allocates it.
    """
    for named, why in (("E", "does not read B"), ("B", "does not read B")):
        with pytest.raises(DiagnosticError, match=f"block {named} {why}"):
            Schedule(readers()).cache_read("C", 0, "local", consumer_blocks=[named])
    with pytest.raises(DiagnosticError, match="block E does not read B"):
        Schedule(readers()).cache_write("B", 0, "local", consumer_blocks=["E"])
    inside = Schedule(readers())
    inside.blockize(inside.get_loops("B")[0])
    with pytest.raises(DiagnosticError, match="block D is not in block B_o, which holds the copy of B"):
        inside.cache_write("B", 0, "local", consumer_blocks=["D"])


def readers() -> PrimFunc:
    """B = A + 1, C = B * 2, D = B * 3, E = C + D"""
    a = placeholder((5, 4), "float32", "A")
    b = compute((5, 4), lambda i, j: a[i, j] + 1.0, "B")
    c, d = (compute((5, 4), lambda i, j, f=f: b[i, j] * f, name) for f, name in ((2.0, "C"), (3.0, "D")))
    return create_prim_func([a, compute((5, 4), lambda i, j: c[i, j] + d[i, j], "E")])


@pytest.mark.parametrize(("chosen", "through"), [(None, {"C", "D"}), (["C"], {"C"}), (["D"], {"D"})])
def test_cache_read_that_readers_read(chosen: list[str] | None, through: set[str]) -> None:
    """Guards that all blocks beside the block read the copy, unless some are named."""
    s = same(readers(), lambda s: s.cache_read("C", 0, "local", consumer_blocks=chosen), (5, 4), (5, 4))
    assert {name for name in "CDE" if any(r.buffer.name == "B_local" for r in s.get(name).reads)} == through


def test_readers_of_a_copy_read_what_one_block_wrote() -> None:
    """Guards memory that two blocks write: of what the other one wrote, the copy has nothing."""
    text = """
@T.prim_func
def main(A: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((6,))
    for i in range(1):
        with T.block("first"):
            v = T.axis.spatial(1, i)
            B[v] = A[v]
    for i in range(5):
        with T.block("rest"):
            v = T.axis.spatial(5, i)
            B[v + 1] = A[v]
    for i in range(6):
        with T.block("C"):
            v = T.axis.spatial(6, i)
            C[v] = B[v]
"""
    with pytest.raises(DiagnosticError, match="block first writes a part of B that readers would miss in the copy"):
        Schedule(from_source(text)).cache_write("rest", 0, "local", consumer_blocks=["C"])

    def change(s: Schedule) -> None:
        s.cache_write("rest", 0, "local")

    same(from_source(text), change, (6,), (6,))


def test_read_at_is_of_one_reader() -> None:
    """Guards a copy in a loop that the other readers are not in."""
    s = same(readers(), lambda s: s.read_at(s.get_loops("C")[0], "C", 0, "local"), (5, 4), (5, 4))
    assert [s.get(name).reads[0].buffer.name for name in "CD"] == ["B_local", "B"]


def test_a_layout_with_separators_is_two_steps() -> None:
    """Guards separators, which the buffer has afterwards, and their step in the trace."""

    def change(s: Schedule) -> None:
        s.transform_layout("B", ("write", 0), lambda i, j: (j, IndexMap.AXIS_SEPARATOR, i))

    s = same(readers(), change, (5, 4), (5, 4))
    assert tuple(map(int, s.get("B").writes[0].buffer.axis_separators)) == (1,)
    assert [inst.kind.name for inst in s.trace.insts] == ["GetBlock", "TransformLayout", "SetAxisSeparator"]
    again = Schedule(readers())
    Trace.apply_json_to_schedule(s.trace.as_json(), again)
    assert again.func.script() == s.func.script()
    with pytest.raises(DiagnosticError, match="axis separators"):
        Schedule(readers()).transform_block_layout("B", lambda i, j: (j, IndexMap.AXIS_SEPARATOR, i))


def test_annotated_regions() -> None:
    """Guards that regions are said anew, remembered in the trace, and nothing else changes."""

    def change(s: Schedule) -> None:
        s.annotate_buffer_access("D", 0, "read", lambda i, j: ((i - 1, i + 1), j))

    s = same(chain(), change, *CHAIN)
    assert "T.reads(C[v_i - 1:v_i - 1 + 2, v_j])" in script(s.func)
    assert s.get("D").annotations["explicit_read_region"] == [0]
    assert s.trace.as_python()[-1] == (
        'sch.annotate_buffer_access(block=b0, buffer_index=0, buf_type="read", '
        "gen_new_ranges=lambda v_i, v_j: [(v_i - 1, v_i + 1,), (v_j, v_j + 1,)])"
    )
    again, from_json, from_text = (Schedule(chain()) for _ in range(3))
    s.trace.apply_to_schedule(again)
    Trace.apply_json_to_schedule(s.trace.as_json(), from_json)
    exec("\n".join(s.trace.as_python()), {"sch": from_text})
    assert script(again.func) == script(from_json.func) == script(from_text.func) == script(s.func)


def test_references() -> None:
    """Guards the tree of references: what is above, and the place in a sequence."""
    s = Schedule(chain())
    sref = s.get_sref(s.get_block("D"))
    assert sref.stmt is s.get("D")
    names: list[str] = []
    at = sref.parent
    while at is not None:
        names.append(getattr(at.stmt, "name_hint", "") or at.stmt.loop_var.name)
        at = at.parent
    assert names == ["j", "i", "root"]
    assert s.get_sref(s.get_loops("D")[0]).seq_index == len(s.get_child_blocks("root")) - 1
    assert s.state.mod["main"] is s.func


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.reindex_cache_read("C", 5, "local", lambda i, j, k: (i, k)), "there is no number 5"),
        (lambda s: s.annotate_buffer_access("C", 0, "both", lambda i, j, k: (i, k)), "none of kind 'both'"),
        (lambda s: s.annotate_buffer_access("C", 0, "read", lambda i, j, k: (i,)), "A has 2 axes"),
        (lambda s: s.blockize(s.get_block("C")), "takes a loop or a list of blocks"),
        (lambda s: s.get_sref(matmul().body), "references are to blocks and loops"),
    ],
)
def test_refusals(change: Callable[[Schedule], Any], message: str) -> None:
    """Guards errors that name what is wrong."""
    with pytest.raises(DiagnosticError, match=message):
        change(Schedule(matmul()))


def test_copies_hold_whole_sums() -> None:
    """Found by random kernels: a copy inside of the loop that a reduction goes over began anew in each iteration."""
    func = from_source("""
@T.prim_func
def main(A: T.Buffer((3, 4), "int32"), C: T.Buffer((4,), "int32")):
    for k in range(3):
        with T.block("part"):
            T.reads()
            T.writes()
            for i in range(4):
                with T.block("C"):
                    v = T.axis.spatial(4, i)
                    r = T.axis.reduce(3, k)
                    with T.init():
                        C[v] = 0
                    C[v] = C[v] + A[r, v]
""")
    with pytest.raises(DiagnosticError, match="reduces over k, around block part"):
        Schedule(func).cache_write("C", 0, "local")
