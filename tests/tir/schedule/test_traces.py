"""Traces of schedules: instructions under TVM's names, as Python and as JSON, taken again with other choices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton import te
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.index_map import IndexMap
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.schedule.traces.instruction_kinds import KINDS, InstructionKind
from baton._src.tir.schedule.traces.trace import Trace


def chain() -> PrimFunc:
    a = te.placeholder((16, 16), name="A")
    b = te.compute((16, 16), lambda i, j: a[i, j] * 2.0, name="B")
    made: PrimFunc = te.create_prim_func([a, te.compute((16, 16), lambda i, j: b[i, j] + 1.0, name="C")])
    return made


def tiled(s: Schedule) -> None:
    i, j = s.get_loops(s.get_block("C"))
    outer, inner = s.split(i, s.sample_perfect_tile(i, 2, decision=[4, 4]))
    s.reorder(outer, j, inner)
    s.compute_at("B", j)
    s.enter_postproc()
    s.unroll(inner)


def test_python() -> None:
    """Guards names of arguments, of functions that nobody named, and of what is looked up by name."""
    s = Schedule(chain())
    tiled(s)
    assert s.trace.as_python() == [
        'b0 = sch.get_block(name="C", func_name="main")',
        "l1, l2 = sch.get_loops(block=b0)",
        "v3, v4 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=16, decision=[4, 4])",
        "l5, l6 = sch.split(loop=l1, factors=[v3, v4], preserve_unit_iters=True, disable_predication=False)",
        "sch.reorder(l5, l2, l6)",
        'b7 = sch.get_block(name="B", func_name="main")',
        "sch.compute_at(block=b7, loop=l2, preserve_unit_loops=False, index=-1)",
        "sch.enter_postproc()",
        "sch.unroll(loop=l6)",
    ]


def test_json() -> None:
    """Guards the form of steps: kind, inputs, attrs, outputs; buffers as number and kind of access; maps as texts."""
    s = Schedule(chain())
    s.transform_layout("B", "B", lambda i, j: (j, i))
    s.cache_read("C", "B", "local")
    s.annotate(s.get_loops("C")[0], "key", "text")
    assert json.loads(json.dumps(s.trace.as_json())) == [
        [
            ["GetBlock", [], ["B", "main"], ["b0"]],
            ["TransformLayout", ["b0", '"lambda i, j: (j, i,)"'], [0, 1, None, False], []],
            ["GetBlock", [], ["C", "main"], ["b1"]],
            ["CacheRead", ["b1", []], [0, "local"], ["b2"]],
            ["GetBlock", [], ["C", "main"], ["b3"]],
            ["GetLoops", ["b3"], [], ["l4", "l5"]],
            ["Annotate", ["l4", '"text"'], ["key"], []],
        ],
        [],
    ]
    again = Schedule(chain())
    Trace.apply_json_to_schedule(s.trace.as_json(), again)
    assert again.func.script() == s.func.script()


def test_decisions_are_the_trace_s() -> None:
    """Guards replaced and provided decisions."""
    s = Schedule(chain())
    tiled(s)
    ((sampled, decision),) = s.trace.decisions.items()
    assert (sampled.kind.name, sampled.attrs, decision) == ("SamplePerfectTile", [2, 16], [4, 4])
    replaced, provided = Schedule(chain()), Schedule(chain())
    s.trace.with_decision(sampled, [8, 2]).apply_to_schedule(replaced)
    s.trace.apply_to_schedule(provided, decision_provider=lambda inst, inputs, attrs, old: old and [8, 2])
    for again in (replaced, provided):
        assert again.get(again.get_loops("C")[0]).extent.value == 8
    assert s.trace.get_decision(sampled) == [4, 4]


@pytest.mark.parametrize("remove", [True, False])
def test_what_follows_the_choices_may_be_left_out(remove: bool) -> None:
    """Guards `remove_postproc`: the steps from `enter_postproc` on."""
    s = Schedule(chain())
    tiled(s)
    again = Schedule(chain())
    s.trace.apply_to_schedule(again, remove_postproc=remove)
    assert ("unroll" in again.func.script()) is not remove
    for trace in (s.trace.simplified(remove), s.trace.with_decision(s.trace.insts[2], [2, 8], remove)):
        assert ("Unroll" in [i.kind.name for i in trace.insts]) is not remove
    assert ("sch.enter_postproc()" in s.trace.as_python(remove)) is not remove
    assert ("Unroll" in [step[0] for step in s.trace.as_json(remove)[0]]) is not remove


def test_copies_have_traces_of_their_own() -> None:
    s = Schedule(chain())
    tiled(s)
    other = s.copy()
    other.trace.pop()
    assert len(other.trace.insts) == len(s.trace.insts) - 1
    assert other.trace.decisions == s.trace.decisions


def test_maps_and_flags() -> None:
    """Guards arguments that are given by name only, and maps on their way through JSON."""
    s = Schedule(chain())
    s.transform_layout("B", ("write", 0), lambda i, j: (i // 5, j, i % 5), assume_injective_transform=True)
    s.transform_block_layout("C", lambda i, j: (i // 4, j, i % 4))
    assert "T.int64" not in s.func.script()
    again = Schedule(chain())
    Trace.apply_json_to_schedule(s.trace.as_json(), again)
    assert again.func.script() == s.func.script()
    assert again.trace.as_python() == s.trace.as_python()


def test_kinds() -> None:
    """Guards that every kind is a primitive, under the name that says so."""
    for primitive, kind in KINDS.items():
        assert getattr(Schedule, primitive).is_primitive
        assert InstructionKind.get(kind.name) is kind
    assert KINDS["rfactor"].name == "RFactor"
    assert [k.name for k in KINDS.values() if k.is_postproc] == ["EnterPostproc"]
    with pytest.raises(DiagnosticError, match="no kind of instruction 'Fly'"):
        InstructionKind.get("Fly")


def test_buffers_are_given_by_themselves() -> None:
    """Guards that a buffer, its name and its number mean the same, and what is said of others."""

    def change(which: Any) -> str:
        s = Schedule(chain())
        s.cache_read("C", which(s), "local")
        return s.func.script()

    assert change(lambda s: 0) == change(lambda s: "B") == change(lambda s: s.get("C").reads[0].buffer)
    with pytest.raises(DiagnosticError, match="block C reads no buffer 'C'"):
        Schedule(chain()).cache_read("C", "C", "local")
    with pytest.raises(DiagnosticError, match=r'given as \("read" or "write", number\)'):
        Schedule(chain()).transform_layout("C", ("both", 0), IndexMap.from_func(lambda i, j: (j, i)))


def test_traces_keep_maps_of_any_number_of_indices() -> None:
    """Guards functions of `*indices`, which a trace cannot write without their number."""
    a = te.placeholder((4, 6), "float32", "A")
    b = te.compute((4, 6), lambda i, j: a[i, j] + 1.0, "B")
    func = te.create_prim_func([a, te.compute((4, 6), lambda i, j: b[i, j] * 2.0, "C")])
    s = Schedule(func)
    s.transform_layout("B", ("write", 0), lambda *i: (*i[1:], i[0] // 3, i[0] % 3), pad_value=lambda *i: i[0] * 1.0)
    s.transform_block_layout("C", lambda *i: i[::-1])
    again = Schedule(func)
    Trace(s.trace.insts, s.trace.decisions).apply_to_schedule(again, remove_postproc=False)
    assert again.func.script() == s.func.script()
