"""Places of extrema in two sweeps, against NumPy: first and last of equals, NaN, open sizes; accesses checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order, rewrite
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.ops.kernel_words import reduce_axis
from baton._src.ops.reduce.arg_extrema import arg_reducer
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.expr import FloatImm, Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Block, For, ForKind, SeqStmt
from tests.codegen.native_run import HOST, build, call
from tests.grids import every_pair

TARGETS = {"one": HOST, "threads": Target("llvm -num-cores=4"), "sse": Target("llvm -mcpu=x86-64")}


def search(rows: Any, columns: Any, axis: int, dtype: str, is_max: bool, last: bool, both: bool = False) -> PrimFunc:
    """The places along one axis of a matrix; `both`: and the values there."""
    a = placeholder((rows, columns), dtype, "a")
    k = reduce_axis((rows, columns)[axis], "k")
    reducer = arg_reducer(is_max=is_max, last=last)

    def body(i: Any) -> Any:
        return reducer((k.var, a[i, k.var] if axis else a[k.var, i]), [k])

    places, values = compute(((rows, columns)[1 - axis],), body, "found")
    return create_prim_func([a, places, values] if both else [a, compute(places.shape, lambda i: places[i], "out")])


def wanted(x: Any, axis: int, is_max: bool, last: bool) -> Any:
    flipped = np.flip(x, axis) if last else x
    found = (np.argmax if is_max else np.argmin)(flipped, axis)
    return x.shape[axis] - 1 - found if last else found


def contents(dtype: str, rows: int, columns: int) -> Any:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 4, (rows, columns)).astype(dtype)
    if dtype.startswith("float"):
        x[rng.random(x.shape) < 0.02] = np.nan
        x[0], x[:, 0] = np.nan, -np.inf
    return x


DTYPES = ["float32", "float64", "int8", "uint8", "int64"]
SIZES = {"known": (9, 75), "open": (Var("m", "int64"), Var("n", "int64"))}
EQUALS = {"first": False, "last": True}


@pytest.mark.parametrize(
    ("dtype", "axis", "target", "sizes", "extremum", "last"),
    every_pair(DTYPES, [0, 1], TARGETS, SIZES, ["min", "max"], EQUALS),
)
def test_places(dtype: str, axis: int, target: Target, sizes: tuple[Any, Any], extremum: str, last: bool) -> None:
    """Guards both directions and both of equals, along rows and down columns."""
    x, is_max = contents(dtype, 9, 75), extremum == "max"
    func = search(*sizes, axis, dtype, is_max, last)
    decision = decide(func, target)
    assert any(isinstance(n, For) and n.kind is ForKind.VECTORIZED for n in post_order(decision.func.body))
    out = np.zeros(x.shape[1 - axis], "int64")
    assert call(build(decision.func, target, checked=True), decision.func, x, out) is None
    np.testing.assert_array_equal(out, wanted(x, axis, is_max, last))


def test_values_that_are_read_keep_the_pairs() -> None:
    """Guards kernels that give both: the value there may be NaN, which an extremum is not."""
    x = contents("float32", 9, 75)
    func = search(9, 75, 1, "float32", is_max=True, last=False, both=True)
    places, values = np.zeros(9, "int64"), np.zeros(9, "float32")
    decision = decide(func, HOST)
    assert call(build(decision.func, HOST, checked=True), decision.func, x, places, values) is None
    np.testing.assert_array_equal(places, wanted(x, 1, True, False))
    np.testing.assert_array_equal(values, x[np.arange(9), places])


def test_searches_that_begin_with_a_value_of_their_own() -> None:
    """What is not better than that has no place."""

    def begun(node: Any) -> Any:
        if not isinstance(node, Block) or not isinstance(node.init, SeqStmt):
            return None
        place, value = node.init.seq
        return node.with_fields(init=SeqStmt((place, value.with_fields(value=FloatImm("float32", 5.0)))))

    func = search(9, 75, 1, "float32", True, False)
    func = func.with_fields(body=rewrite(func.body, begun))
    found = np.zeros(9, "int64")
    assert call(build(decide(func, HOST).func, checked=True), func, np.zeros((9, 75), "float32"), found) is None
    assert (found == np.iinfo("int64").max).all()
