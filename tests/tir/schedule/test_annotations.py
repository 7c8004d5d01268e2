"""Annotations of loops and blocks, and what primitives make of annotated loops."""

from __future__ import annotations

from typing import Any

import pytest

from baton import te, tir
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.schedule.traces.trace import Trace


def chain() -> Any:
    """B = A * 2, C = A + 1: two nests that do not meet"""
    a = te.placeholder((4, 6), name="A")
    made = [te.compute((4, 6), lambda i, j, f=f: a[i, j] * f, name=name) for f, name in ((2.0, "B"), (3.0, "C"))]
    return te.create_prim_func([a, *made])


def test_an_annotation_stays_until_it_is_removed() -> None:
    """Guards TVM's rule: the first of a key counts."""
    s = tir.Schedule(chain())
    loop = s.get_loops("B")[0]
    s.annotate(loop, "key", 1)
    s.annotate(loop, "key", 2)
    assert s.get(loop).annotations == {"key": 1}
    s.unannotate(loop, "key")
    s.annotate(loop, "key", 2)
    assert s.get(loop).annotations == {"key": 2}
    with pytest.raises(DiagnosticError, match="no annotation 'other'"):
        s.unannotate(loop, "other")


@pytest.mark.parametrize("value", ["text", 3, 1.5, True, [1, 2], {"stages": [0, 1], "name": "x"}])
def test_values(value: Any) -> None:
    """Guards each kind of value on its way through a trace."""
    s = tir.Schedule(chain())
    s.annotate("B", "key", value)
    assert s.get("B").annotations == {"key": value}
    again = tir.Schedule(chain())
    Trace.apply_json_to_schedule(s.trace.as_json(), again)
    assert again.get("B").annotations == {"key": value}


def test_sampled_values() -> None:
    """Guards numbers that were sampled: plain ones in the program, their names in the trace."""
    s = tir.Schedule(chain())
    s.annotate("B", "key", [s.sample_categorical([4, 8], [0.0, 1.0]), 1])
    assert [type(n) for n in s.get("B").annotations["key"]] == [int, int]
    assert s.trace.as_python()[-1] == 'sch.annotate(block_or_loop=b1, ann_key="key", ann_val=[v0, 1])'


@pytest.mark.parametrize("value", [None, object(), {1: "x"}, [None]])
def test_what_is_no_value(value: Any) -> None:
    """Guards None above all, which would remove what is there."""
    s = tir.Schedule(chain())
    with pytest.raises(DiagnosticError, match="annotations are texts, numbers"):
        s.annotate("B", "key", value)


@pytest.mark.parametrize(
    "change",
    [
        lambda s, i, j: s.merge(i, s.get_loops("C")[0]),
        lambda s, i, j: s.fuse(i, j),
        lambda s, i, j: s.split(i, [2, 2]),
    ],
)
def test_annotations_are_not_lost(change: Any) -> None:
    s = tir.Schedule(chain())
    i, j = s.get_loops("B")
    s.annotate(i, "key", 1)
    with pytest.raises(DiagnosticError, match="is annotated"):
        change(s, i, j)
