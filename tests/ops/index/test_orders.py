"""Sorting, scans and searches against NumPy, for any contents: the kernels run by the TIR interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baton import relax, tir
from baton._src.codegen.llvm.module import CompileOptions
from baton._src.driver.relax.build import relax_build
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.index.merge_sort import reference_order
from baton._src.ops.index.scans import ScanAttrs
from baton._src.ops.index.searching import SearchAttrs
from baton._src.ops.index.sorted_items import comparators
from baton._src.ops.index.sorting import ArgsortAttrs
from baton._src.ops.index.topk import TopKAttrs
from baton._src.ops.samples import Arr, Sample
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.tensor import array
from tests.ops.sampled_calls import SampledCall


def run(name: str, attributes: Any, *arrays: Any) -> list[Any]:
    """The kernel's results."""
    args = tuple(Arr(a.shape, str(a.dtype), values=a.tolist()) for a in arrays)
    call = SampledCall(CATALOGUE.get(name), Sample(args, attributes), symbolic=False)
    return call.run_compute(call.infer())


rows = st.lists(st.sampled_from([-2, -1, 0, 0, 1, 3]), min_size=1, max_size=9)


@given(row=rows, descending=st.booleans())
@settings(max_examples=30)
def test_the_order_is_stable_in_both_directions(row: list[int], descending: bool) -> None:
    """Guards the merge sort: equal elements keep their order, ascending and descending."""
    x = np.array(row, "int32")
    (found,) = run("argsort", ArgsortAttrs(descending=descending), x)
    assert found.tolist() == np.argsort(-x if descending else x, kind="stable").tolist()


def test_nan_is_greatest() -> None:
    """Guards where NaN goes: last ascending, first descending."""
    x = np.array([1.0, np.nan, -1.0], "float32")
    assert run("argsort", ArgsortAttrs(), x)[0].tolist() == [2, 0, 1]
    assert run("argsort", ArgsortAttrs(descending=True), x)[0].tolist() == [1, 0, 2]


@given(row=rows, k=st.integers(1, 12))
@settings(max_examples=20)
def test_topk_gives_as_many_as_there_are(row: list[int], k: int) -> None:
    """Guards k beyond the axis, and that indices name the values."""
    x = np.array(row, "float32")
    values, indices = run("topk", TopKAttrs(k=k), x)
    assert len(values) == min(k, len(row))
    np.testing.assert_array_equal(values, np.sort(x)[::-1][: len(values)])
    np.testing.assert_array_equal(x[indices], values)


@given(
    row=st.lists(st.sampled_from([-2.0, 0.0, 1.0, 1.0, 3.0, np.nan, np.inf]), min_size=2, max_size=70),
    k=st.integers(1, 20),
    largest=st.booleans(),
)
@settings(max_examples=40)
def test_topk_of_few_gives_the_first_of_the_sorted_order(row: list[float], k: int, largest: bool) -> None:
    """Guards the heap: equal elements keep their order, NaN is greatest, in every of several rows."""
    x = np.array([row, row[::-1]], "float32")
    k = min(k, max(1, len(row) // 2))
    values, indices = run("topk", TopKAttrs(k=k, largest=largest), x)
    wanted = reference_order(x, 1, largest)[:, :k]
    np.testing.assert_array_equal(indices, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, 1))


def contents(dtype: str, rows: int, extent: int, spread: int, rng: np.random.Generator) -> Any:
    """Rows with ties where `spread` is small, over all numbers of the dtype where it is 0; floats with NaN and -0.0."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        data = rng.integers(-spread, spread + 1, (rows, extent)) if spread else rng.normal(0, 1e3, (rows, extent))
        data = data.astype(dtype)
        for value in (np.nan, -0.0, 0.0, np.inf, -np.inf, np.nan):
            if extent > 4:
                data[rng.integers(0, rows), rng.integers(0, extent)] = value
        return data
    if kind.kind == "b":
        return rng.integers(0, 2, (rows, extent)).astype(dtype)
    limits = np.iinfo(dtype)
    if spread:
        return (rng.integers(0, spread, (rows, extent)) + (limits.min if spread == 3 else 0)).astype(dtype)
    return rng.integers(limits.min, limits.max, (rows, extent), dtype, endpoint=True)


def compiled(dims: Any, dtype: str, call: Any, checked: bool = False) -> Any:
    """The native `main(x) = call(x)`."""
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorStructInfo(dims, dtype))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(call(x)))
    return VirtualMachine(relax_build(builder.finalize(), options=CompileOptions(checked=checked)))["main"]


DTYPES = ("float32", "float64", "float16", "bool", "int8", "uint16", "int32", "uint32", "int64", "uint64")
EXTENTS = (0, 1, 2, 7, 8, 9, 15, 16, 17, 100, 128, 129, 144, 257, 1024, 1025, 3000)
"""Around a vector, a column, a block of columns, and where columns are added."""


WAYS = ((1, True, False), (1, False, True), (0, True, False))
"""Axis, whether the order is descending, whether the build is checked."""


@pytest.mark.parametrize(
    ("dtype", "way"), [*((d, WAYS[0]) for d in DTYPES), *((d, w) for d in ("float32", "int64") for w in WAYS[1:])]
)
def test_native_order(dtype: str, way: tuple[int, bool, bool]) -> None:
    """Guards the ranks of every dtype, and sorted columns and merges of any extent that only a run knows."""
    axis, descending, checked = way
    rng = np.random.default_rng(7)
    dims = tuple(tir.Var(name, "int64") for name in "mn")
    options = {"axis": axis, "descending": descending, "dtype": "int64"}
    main = compiled(dims, dtype, lambda x: relax.op.argsort(x, **options), checked)
    for extent in EXTENTS:
        for spread in (0, 3, 90):
            data = contents(dtype, 3, extent, spread, rng)
            data = data if axis == 1 else np.ascontiguousarray(data.T)
            np.testing.assert_array_equal(main(array(data)).numpy(), reference_order(data, axis, descending))


@pytest.mark.parametrize("extent", [1, 7, 8, 30, 128, 129, 200, 1000])
def test_native_order_of_a_known_extent(extent: int) -> None:
    """Guards columns whose length is known: shorter ones have a smaller network."""
    rng = np.random.default_rng(8)
    for dtype in ("float32", "int64"):
        main = compiled((3, extent), dtype, lambda x: relax.op.argsort(x, axis=1, dtype="int64"))
        data = contents(dtype, 3, extent, 9, rng)
        np.testing.assert_array_equal(main(array(data)).numpy(), reference_order(data, 1, False))


@pytest.mark.parametrize(
    ("dtype", "k"),
    [*((d, k) for d in DTYPES for k in (5, 65)), *((d, k) for d in ("float32", "int64") for k in (1, 8, 9, 64, 200))],
)
def test_native_topk(dtype: str, k: int) -> None:
    """Guards the few that are kept in order, the heap of more, and the blocks of elements that are compared at once."""
    rng = np.random.default_rng(7)
    dims = tuple(tir.Var(name, "int64") for name in "mn")
    for axis, largest, checked in WAYS if k in (9, 65) else WAYS[:1]:
        options = {"k": k, "axis": axis, "largest": largest, "dtype": "int64"}
        main = compiled(dims, dtype, lambda x, options=options: relax.op.topk(x, **options), checked)
        for extent in (k, k + 1, k + 15, k + 16, k + 17, 1000):
            for spread in (0, 3, 90):
                data = contents(dtype, 3, extent, spread, rng)
                data = data if axis == 1 else np.ascontiguousarray(data.T)
                values, places = (v.numpy() for v in main(array(data)))
                wanted = reference_order(data, axis, largest).take(range(k), axis)
                np.testing.assert_array_equal(places, wanted)
                np.testing.assert_array_equal(values, np.take_along_axis(data, wanted, axis))


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
def test_comparators_sort(count: int) -> None:
    """Guards the sorting network: what sorts all zeros and ones sorts everything."""
    rows = (np.arange(1 << count)[:, None] >> np.arange(count)) & 1
    for upper, lower in comparators(count):
        pair = rows[:, (upper, lower)]
        rows[:, upper], rows[:, lower] = pair.min(axis=1), pair.max(axis=1)
    assert (np.diff(rows, axis=1) >= 0).all()


@given(row=rows, values=rows, right=st.booleans())
@settings(max_examples=20)
def test_searches_agree_with_numpy(row: list[int], values: list[int], right: bool) -> None:
    """Guards the binary search with repeated elements."""
    ordered, wanted = np.sort(np.array(row, "int32")), np.array(values, "int32")
    (found,) = run("searchsorted", SearchAttrs(right=right), ordered, wanted)
    np.testing.assert_array_equal(found, np.searchsorted(ordered, wanted, "right" if right else "left"))


def test_scans_of_nothing() -> None:
    """Guards empty axes: no element is written."""
    assert run("cumsum", ScanAttrs(axis=1), np.zeros((2, 0), "float32"))[0].shape == (2, 0)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [("sort", {"axis": 2}), ("topk", {"ret_type": "some"}), ("cumsum", {"axis": -3})],
)
@pytest.mark.rule("RELAX-OPSHAPE-08", rejects=True)
def test_wrong_attributes_are_rejected(name: str, attributes: dict[str, Any]) -> None:
    """Guards the errors of axes and modes."""
    definition = CATALOGUE.get(name)
    with pytest.raises(DiagnosticError):
        SampledCall(definition, Sample((Arr((2, 3)),), definition.attrs(**attributes)), symbolic=False).infer()
