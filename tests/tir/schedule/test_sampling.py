"""Samples whose decisions no longer fit, places that are no loops, and seeds."""

from __future__ import annotations

from typing import Any

import pytest

from baton import te, tir
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.prim_func import PrimFunc


def chain() -> PrimFunc:
    """B = A * 2, C = B + 1, over 12 x 8"""
    a = te.placeholder((12, 8), name="A")
    b = te.compute((12, 8), lambda i, j: a[i, j] * 2.0, name="B")
    made: PrimFunc = te.create_prim_func([a, te.compute((12, 8), lambda i, j: b[i, j] + 1.0, name="C")])
    return made


@pytest.mark.parametrize(
    ("given", "taken"),
    [([3, 4], [3, 4]), ([9, 4], [3, 4]), ([2, 5], [1, 12]), ([1, 2, 5], [1, 1, 12]), ([1, 5, 2], [1, 6, 2])],
)
def test_tiles_that_do_not_fit_any_more(given: list[int], taken: list[int]) -> None:
    """Guards decisions made for another extent: factors from the last one on are kept as long as they divide."""
    s = tir.Schedule(chain())
    found = s.sample_perfect_tile(s.get_loops("C")[0], len(given), decision=given)
    assert [s.get(factor) for factor in found] == taken
    assert list(s.trace.decisions.values()) == [taken]


@pytest.mark.parametrize(
    ("given", "taken"),
    [([1, 3, 4], [1, 3, 4]), ([4, 3, 1], [3, 1, 4]), ([1, 2, 4], [1, 3, 4]), ([2, 1, 8], [1, 1, 12])],
)
def test_parted_tiles_that_do_not_fit_any_more(given: list[int], taken: list[int]) -> None:
    """Guards the second part, which 4 divides, or is 4."""
    s = tir.Schedule(chain())
    found = s.sample_partitioned_tile(s.get_loops("C")[0], 3, 2, 4, decision=given)
    assert [s.get(factor) for factor in found] == taken


def test_bounds_of_the_innermost_factor() -> None:
    s = tir.Schedule(chain(), seed=1)
    loop = s.get_loops("C")[0]
    drawn = {s.get(s.sample_perfect_tile(loop, 2, max_innermost_factor=-1)[1]) for _ in range(100)}
    assert drawn == {1, 2, 3, 4, 6, 12}
    with pytest.raises(DiagnosticError, match="0 bounds nothing"):
        s.sample_perfect_tile(loop, 2, max_innermost_factor=0)


@pytest.mark.parametrize(("given", "taken"), [(-3, -1), (-2, -2), (1, 1), (7, 1)])
def test_places_that_are_none_any_more(given: int, taken: int) -> None:
    """Guards the nearest place outside of the one that was decided."""
    s = tir.Schedule(chain())
    s.compute_at("B", s.sample_compute_location("B", decision=given))
    assert list(s.trace.decisions.values()) == [taken]


def test_a_place_is_decided_anew() -> None:
    """Guards that a trace whose sample was no loop can be taken again with one."""
    s = tir.Schedule(chain())
    s.compute_at("B", s.sample_compute_location("B", decision=-1))
    assert "l1 = sch.sample_compute_location(block=b0, decision=-1)" in s.trace.as_python()
    (sampled,) = s.trace.decisions
    again = tir.Schedule(chain())
    s.trace.with_decision(sampled, 0).apply_to_schedule(again)
    assert again.get_loops("B")[0].var is again.get_loops("C")[0].var


@pytest.mark.parametrize(("decision", "blocks"), [(-2, ["B"]), (-1, ["B", "C"])])
def test_places_of_readers(decision: int, blocks: list[str]) -> None:
    """Guards places that are no loops in the other direction: where it is, or inlined into the producer."""
    s = tir.Schedule(chain())
    place = s.sample_compute_location("B", decision=decision)
    s.reverse_compute_at("C", place)
    assert [block.name for block in s.get_child_blocks("root")] == blocks


def test_seeds() -> None:
    """Guards that equal seeds draw the same, and what is no seed."""

    def drawn(seed: Any) -> list[int]:
        s = tir.Schedule(chain(), seed=seed)
        return [s.get(s.sample_categorical([0, 1, 2, 3], [1.0] * 4)) for _ in range(20)]

    assert drawn(7) == drawn(7) != drawn(8)
    s = tir.Schedule(chain())
    s.seed(-1)
    assert 1 <= s.fork_seed() < 2**31
    for wrong in (-2, 2**31):
        with pytest.raises(ValueError, match="a seed is a number from 0"):
            drawn(wrong)
    with pytest.raises(TypeError, match="a seed is a whole number"):
        drawn(1.5)
