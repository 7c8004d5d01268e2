"""Sorting, scans and searches against NumPy, for any contents: the kernels run by the TIR interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baton import relax, tir
from baton._src.driver.relax.build import relax_build
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.index.merge_sort import reference_order
from baton._src.ops.index.scans import ScanAttrs
from baton._src.ops.index.searching import SearchAttrs
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


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16", "float16"])
@pytest.mark.parametrize("largest", [True, False])
def test_native_topk_of_few(dtype: str, largest: bool) -> None:
    """Guards the blocks of elements that are compared at once, and the rest behind them: natively, with ties."""
    rng = np.random.default_rng(7)
    m, n = (tir.Var(name, "int64") for name in "mn")
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorStructInfo((m, n), dtype))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.topk(x, k=5, axis=1, largest=largest, dtype="int64")))
    main = VirtualMachine(relax_build(builder.finalize()))["main"]
    for extent in (5, 6, 20, 21, 22, 37, 100, 1000):
        data = rng.integers(0, 90, (3, extent)).astype(dtype)
        if dtype.startswith("float"):
            data[0, extent // 2] = np.nan
        values, places = (v.numpy() for v in main(array(data)))
        wanted = reference_order(data, 1, largest)[:, :5]
        np.testing.assert_array_equal(places, wanted)
        np.testing.assert_array_equal(values, np.take_along_axis(data, wanted, 1))


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
