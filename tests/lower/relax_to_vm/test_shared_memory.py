"""Cuts and joins of intermediates cost nothing where they are in one piece; everywhere else they are kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, program, tensor, weights


def halves(b: Any, x: Any) -> Any:
    """Three parts of a product along an axis in one piece, put together in another order."""
    y = b.emit(R.matmul(x, weights(6, 12)))
    parts = b.emit(R.split(y, [2, 6], axis=1))
    found = [b.emit(R.matmul(b.emit(_item(parts, i)), weights(w, 5, seed=i))) for i, w in enumerate((2, 4, 6))]
    return R.matmul(b.emit(R.concat([found[2], found[0], found[1]], axis=1)), weights(15, 3))


def chained(b: Any, x: Any) -> Any:
    """A joint part of a join, as in densely connected networks: everything is computed where it stays."""
    y = b.emit(R.matmul(x, weights(6, 6)))
    for seed in (1, 2, 3):
        more = b.emit(R.matmul(y, weights(6 * seed, 6, seed=seed)))
        y = b.emit(R.concat([y, more], axis=1))
    return R.matmul(y, weights(24, 2, seed=9))


def twice(b: Any, x: Any) -> Any:
    """One value in two joins, and twice in one: it can lie in one place only."""
    y, z = b.emit(R.matmul(x, weights(6, 6))), b.emit(R.matmul(x, weights(6, 6, seed=1)))
    left = b.emit(R.matmul(b.emit(R.concat([y, z], axis=1)), weights(12, 3)))
    right = b.emit(R.matmul(b.emit(R.concat([z, z, y], axis=1)), weights(18, 3)))
    return R.subtract(left, right)


def rows(b: Any, x: Any) -> Any:
    """A cut along the second axis of several rows is not in one piece."""
    y = b.emit(R.matmul(x, weights(6, 8)))
    parts = b.emit(R.split(y, 2, axis=1))
    product = b.emit(R.matmul(b.emit(_item(parts, 0)), weights(4, 4)))
    return R.matmul(b.emit(R.concat([product, b.emit(_item(parts, 1))], axis=1)), weights(8, 8))


def ends(b: Any, x: Any) -> Any:
    """Parameters and results keep memory of their own."""
    parts = b.emit(R.split(x, 2, axis=1))
    left = b.emit(R.matmul(b.emit(_item(parts, 0)), weights(3, 4)))
    return R.concat([left, b.emit(_item(parts, 1))], axis=1)


def shifted(b: Any, x: Any) -> Any:
    """Stacked, cut by rows; a reshape between the two."""
    made = [b.emit(R.matmul(x, weights(6, 4, seed=s))) for s in range(3)]
    y = b.emit(R.matmul(b.emit(R.stack(made, axis=0)), weights(4, 4, seed=7)))
    last = b.emit(R.strided_slice(b.emit(R.reshape(y, (3, 4))), [0], [1], [3]))
    return R.matmul(last, weights(4, 4, seed=8))


def _item(value: Any, index: int) -> Any:
    return baton.relax.TupleGetItem(value, index)


CASES: list[tuple[Callable[..., Any], int, str]] = [
    (halves, 1, ""),
    (chained, 1, ""),
    (twice, 1, "concat"),
    (rows, 5, "concat split"),
    (ends, 1, "concat split"),
    (shifted, 1, ""),
]


@pytest.mark.parametrize(("build", "count", "moving"), CASES, ids=[c[0].__name__ for c in CASES])
def test_moves(build: Callable[..., Any], count: int, moving: str) -> None:
    """Guards which kernels are left, and the values."""
    module = program([tensor("x", count, 6)], build)
    model = baton.compile(module)
    x = np.random.default_rng(0).standard_normal((count, 6)).astype("float32")
    (found,) = model(x)
    np.testing.assert_allclose(found, evaluate(module, "main", x), rtol=1e-4, atol=1e-5)
    names = " ".join(k.name for k in model.kernels)
    for move in ("concat", "split", "stack", "slice"):
        assert (move in names) is (move in moving), names


def test_several_runs_and_threads_of_memory() -> None:
    """Guards lifetimes: what lies inside another value lives as long as that; calls in a row do not mix."""
    module = program([tensor("x", 1, 6)], chained)
    model = baton.compile(module)
    rng = np.random.default_rng(1)
    given = [rng.standard_normal((1, 6)).astype("float32") for _ in range(5)]
    first = [model(x)[0].copy() for x in given]
    for x, wanted in zip(reversed(given), reversed(first)):
        assert np.array_equal(model(x)[0], wanted)


@pytest.mark.parametrize("seed", range(10))
def test_random_cuts_and_joins(seed: int) -> None:
    """Guards combinations: cuts of joins, joins of cuts, values used again after they moved."""
    rng = np.random.default_rng(seed)
    count = int(rng.choice([1, 1, 3]))

    def build(b: Any, x: Any) -> Any:
        values = [(b.emit(R.matmul(x, weights(6, 8))), 8)]
        for step in range(int(rng.integers(3, 9))):
            value, width = values[rng.integers(len(values))]
            place = int(rng.integers(1, width)) if width > 1 else 0
            match rng.choice(["product", "split", "concat", "slice"]):
                case "split" if place:
                    parts = b.emit(R.split(value, [place], axis=1))
                    values += [(b.emit(_item(parts, 0)), place), (b.emit(_item(parts, 1)), width - place)]
                case "concat":
                    chosen = [values[i] for i in rng.integers(len(values), size=2)]
                    joined = b.emit(R.concat([v for v, _ in chosen], axis=1))
                    values.append((joined, sum(w for _, w in chosen)))
                case "slice" if place:
                    values.append((b.emit(R.strided_slice(value, [1], [place], [width])), width - place))
                case _:
                    values.append((b.emit(R.matmul(value, weights(width, 4, seed=step))), 4))
        last = [b.emit(R.matmul(v, weights(w, 2, seed=3))) for v, w in values[-3:]]
        return R.concat([*last, values[int(rng.integers(len(values)))][0]], axis=1)

    module = program([tensor("x", count, 6)], build)
    x = rng.standard_normal((count, 6)).astype("float32")
    wanted = evaluate(module, "main", x)
    (found,) = baton.compile(module)(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4 * (1 + np.abs(wanted).max()))
