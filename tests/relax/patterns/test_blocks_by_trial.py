"""Patterns joined by edges, against trying every way to place them, on random blocks with copies of variables."""

from __future__ import annotations

from itertools import permutations
from random import Random
from typing import Any

import pytest

from baton import relax
from baton.relax.dpl import PatternContext, is_op, wildcard
from baton.script import relax as R

ARITY = {"exp": 1, "cos": 1, "add": 2, "multiply": 2}


def random_block(rng: Random) -> tuple[Any, dict[Any, tuple[str, list[Any]]], dict[Any, Any], set[Any]]:
    """A block, and by variable: operator and operands, what it is a copy of; and what leaves the block."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4,), "float32"))
    values, calls, copied, leaving = [x], {}, {x: x}, set()
    with builder.function("main", [x]):
        with builder.dataflow():
            for _ in range(rng.randint(3, 8)):
                is_last = rng.random() < 0.1
                if len(values) > 1 and rng.random() < 0.25:
                    old = rng.choice(values[-3:])
                    var = (builder.emit_output if is_last else builder.emit)(old)
                    copied[var] = copied[old]
                else:
                    name = rng.choice(list(ARITY))
                    operands = [rng.choice(values[-4:]) for _ in range(ARITY[name])]
                    var = (builder.emit_output if is_last else builder.emit)(getattr(relax.op, name)(*operands))
                    copied[var] = var
                    calls[var] = (name, [copied[o] for o in operands])
                if is_last:
                    leaving.add(copied[var])
                values.append(var)
            result = builder.emit_output(values[-1])
            copied[result] = copied[values[-1]]
            leaving.add(copied[result])
        builder.emit_func_output(result)
    (block,) = builder.get()["main"].body.blocks
    return block, calls, copied, leaving


def random_pattern(rng: Random, calls: dict[Any, Any]) -> tuple[Any, list[Any], list[str], list[Any]]:
    """A context, its patterns, their operators, and edges (producer, consumer, whether only, index)."""
    names = [rng.choice([name for name, _ in calls.values()] or ["exp"]) for _ in range(rng.randint(2, 4))]
    edges = []
    with PatternContext() as context:
        patterns = [is_op(f"relax.{name}")(*(wildcard() for _ in range(ARITY[name]))) for name in names]
        for consumer in range(1, len(names)):
            producer, only = rng.randrange(consumer), rng.random() < 0.4
            index = rng.choice([-1, rng.randrange(ARITY[names[consumer]])])
            edges.append((producer, consumer, only, index))
            join = patterns[producer].only_used_by if only else patterns[producer].used_by
            join(patterns[consumer], index)
    return context, patterns, names, edges


@pytest.mark.parametrize("seed", range(150))
def test_matches_are_those_found_by_trial(seed: int) -> None:
    """A copy (`b = a`, as `emit_output(a)` makes) was a second operation of its own, and hid users from each other."""
    rng = Random(seed)
    block, calls, copied, leaving = random_block(rng)
    context, patterns, names, edges = random_pattern(rng, calls)

    def fits(placed: tuple[Any, ...]) -> bool:
        if any(calls[var][0] != name for var, name in zip(placed, names)):
            return False
        for producer, consumer, only, index in edges:
            made, operands = placed[producer], calls[placed[consumer]][1]
            if not any(o is made for o in (operands if index == -1 else operands[index : index + 1])):
                return False
            users = [var for var, (_, used) in calls.items() if any(o is made for o in used)]
            if only and (made in leaving or users != [placed[consumer]]):
                return False
        return True

    expected = [placed for placed in permutations(calls, len(names)) if fits(placed)]
    found = context.match_dfb(block)
    assert (found is not None) == bool(expected)
    if found:
        assert tuple(copied[found[p]] for p in patterns) in expected
