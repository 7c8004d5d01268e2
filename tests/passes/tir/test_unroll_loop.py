"""UnrollLoop: which loops are written out, by the options of the pass and by pragmas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.passes.tir.unroll_loop import UnrollLoop
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import stmt as st
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton.script import from_source

NEST = """
@T.prim_func
def f(A: T.Buffer((4, 2, 3), "float32"), B: T.Buffer((4, 2, 3), "float32")):
    for i in range(4):
        for j in range(2):
            for k in range(3):
                B[i, j, k] = A[i, j, k] + T.float32(1)
"""


def unrolled(text: str, **options: Any) -> PrimFunc:
    """The kernel after the pass, which computes what it did."""
    func = from_source(text)
    with PassContext(config={"tir.UnrollLoop": options} if options else {}):
        found: PrimFunc = UnrollLoop()(IRModule({"f": func}))["f"]
    arrays = [np.random.default_rng(0).random((4, 2, 3), np.float32), np.zeros((4, 2, 3), np.float32)]
    run_prim_func(found, arrays)
    np.testing.assert_array_equal(arrays[1], arrays[0] + 1)
    return found


def loops(func: PrimFunc) -> list[str]:
    """Extents, innermost first, those that are marked with a u."""
    found = [n for n in post_order(func.body) if isinstance(n, st.For)]
    return [f"{n.extent}{'u' if n.kind is st.ForKind.UNROLLED else ''}" for n in found]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({}, ["3", "2", "4"]),
        ({"auto_max_step": 2}, ["3", "2", "4"]),
        ({"auto_max_step": 3}, ["2", "4"]),
        ({"auto_max_step": 6}, ["4"]),
        ({"auto_max_step": 24}, []),
        ({"auto_max_step": 24, "auto_max_depth": 1}, ["4"]),
        ({"auto_max_extent": 2}, ["3", "2", "4"]),
        ({"auto_max_extent": 3}, ["4"]),
        ({"auto_max_step": 6, "explicit_unroll": False}, ["3u", "2u", "4"]),
    ],
)
def test_options(options: dict[str, Any], left: list[str]) -> None:
    """Guards each option: a loop counts with what was written out inside, and one around others that are left stays."""
    assert loops(unrolled(NEST, **options)) == left


def test_loops_of_one_iteration() -> None:
    """Guards `auto_max_extent` of 1: there is no need for such a loop, whatever is inside."""
    text = NEST.replace("for i in range(4):", "for u, i in T.grid(1, 4):")
    assert loops(unrolled(text)) == ["3", "2", "4", "1"]
    assert loops(unrolled(text, auto_max_extent=1)) == ["3", "2", "4"]


def test_marked_loops_are_written_out_whatever_they_hold() -> None:
    assert loops(unrolled(NEST.replace("j in range(2)", "j in T.unroll(2)"))) == ["3", "3", "4"]
    assert loops(unrolled(NEST.replace("k in range(3)", "k in T.unroll(3)"), explicit_unroll=False)) == ["3u", "2", "4"]


def test_pragmas_hold_for_the_loop_and_all_inside() -> None:
    annotated = 'j in T.serial(2, annotations={"pragma_auto_unroll_max_step": 6})'
    assert loops(unrolled(NEST.replace("j in range(2)", annotated))) == ["4"]
    marked = annotated.replace("})", ', "pragma_unroll_explicit": 0})')
    assert loops(unrolled(NEST.replace("j in range(2)", marked))) == ["3u", "2u", "4"]


def test_what_cannot_be() -> None:
    """Guards a marked loop whose end a run tells, and names of options."""
    text = """
@T.prim_func
def f(B: T.Buffer((8,), "int32"), n: T.int32):
    for i in T.unroll(n):
        B[i] = i
"""
    with pytest.raises(DiagnosticError, match="the loop over i cannot be unrolled: it runs n times"):
        UnrollLoop()(IRModule({"f": from_source(text)}))
    with pytest.raises(DiagnosticError, match="has no option 'auto_max_steps'"):
        PassContext(config={"tir.UnrollLoop": {"auto_max_steps": 3}})  # whether the pass runs or not
    with pytest.raises(AttributeError, match="a dict of auto_max_step"):
        PassContext(config={"tir.UnrollLoop": 3})


def test_annotations_of_other_kinds_are_left_alone() -> None:
    """Guards texts and lists as annotations, which were taken for numbers; what has to be a number says so."""
    note = NEST.replace("j in range(2)", 'j in T.serial(2, annotations={"pragma_note": "x", "my.sizes": [1, 2]})')
    assert loops(unrolled(note)) == loops(unrolled(NEST))
    wrong = NEST.replace("j in range(2)", 'j in T.serial(2, annotations={"pragma_auto_unroll_max_step": "x"})')
    with pytest.raises(DiagnosticError, match="pragma_auto_unroll_max_step is a number, not 'x'"):
        unrolled(wrong)


def test_lets_in_expressions_have_variables_of_their_own() -> None:
    """Guards the copies of an iteration, which defined one variable several times and could not be built."""
    func = from_source("""
@T.prim_func
def f(A: T.Buffer((3,), "int32"), B: T.Buffer((3,), "int32")):
    for i in T.unroll(3):
        B[i] = T.Let(t * t, where={t: A[i]})
""")
    found = UnrollLoop()(IRModule({"f": func}))["f"]
    assert check_prim_func(found) == []
    arrays = [np.array([2, 3, 5], "int32"), np.zeros(3, "int32")]
    run_prim_func(found, arrays)
    assert arrays[1].tolist() == [4, 9, 25]


def test_views_have_variables_of_their_own() -> None:
    """Found by random passes: the offset of a view was defined once for each iteration that is written out."""
    text = """
@T.prim_func
def f(A: T.Buffer((4, 2, 3), "float32"), B: T.Buffer((4, 2, 3), "float32")):
    for i in T.unroll(4):
        with T.block("row"):
            v = T.axis.spatial(4, i)
            offset = T.int32()
            row = T.match_buffer(A[v, 0:2, 0:3], (2, 3), "float32", elem_offset=offset)
            for j, k in T.grid(2, 3):
                B[v, j, k] = row[j, k] + T.float32(1)
"""
    assert check_prim_func(unrolled(text)) == []
