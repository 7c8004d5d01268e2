"""`tvm.contrib.sort`, `.random`, `.cblas` and `.mkl`: packed functions that scripts and kernels call by name; and
`.pickle_memoize`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import te, tir
from baton._src.support.diagnostics import DiagnosticError
from baton.contrib import cblas, mkl, random
from baton.contrib.pickle_memoize import memoize

CALLS: list[tuple[int, int]] = []


def sorted_by(name: str, data: Any, *outs: Any, given: tuple[Any, ...]) -> list[Any]:
    """What a packed function writes to `outs`."""
    arrays = [tvm.nd.array(out) for out in outs]
    tvm.get_global_func(f"tvm.contrib.sort.{name}")(tvm.nd.array(data), *arrays, *given)
    return [array.numpy() for array in arrays]


@pytest.mark.parametrize("is_ascend", [True, False])
@pytest.mark.parametrize("axis", [0, -1])
def test_sorting(axis: int, is_ascend: bool) -> None:
    """Guards orders, with equal elements, against NumPy's."""
    data = np.random.default_rng(0).integers(0, 4, (5, 7)).astype("float32")
    keys = data if is_ascend else -data
    order = np.argsort(keys, axis, kind="stable")
    wanted = np.take_along_axis(data, order, axis)
    (places,) = sorted_by("argsort", data, np.zeros((5, 7), "int32"), given=(axis, is_ascend))
    np.testing.assert_array_equal(places, order)
    (values,) = sorted_by("sort", data, np.zeros((5, 7), "float32"), given=(axis, is_ascend))
    np.testing.assert_array_equal(values, wanted)
    some = tuple(3 if n == axis % 2 else size for n, size in enumerate(data.shape))
    first, at = sorted_by(
        "topk", data, np.zeros(some, "float32"), np.zeros(some, "int64"), given=(3, axis, "both", is_ascend)
    )
    np.testing.assert_array_equal(first, wanted.take(range(3), axis))
    np.testing.assert_array_equal(at, order.take(range(3), axis))


def test_only_the_valid_boxes_are_sorted() -> None:
    """Guards argsort_nms: places beyond a row's count stay."""
    data, counts = np.float32([[1, 3, 2, 9], [4, 5, 6, 7]]), tvm.nd.array(np.array([3, 0], "int32"))
    out = tvm.nd.array(np.zeros((2, 4), "int32"))
    tvm.get_global_func("tvm.contrib.sort.argsort_nms")(tvm.nd.array(data), counts, out, 1, False)
    assert out.numpy().tolist() == [[1, 2, 0, 3], [0, 1, 2, 3]]
    with pytest.raises(DiagnosticError, match="axis 2 is none of a tensor of shape"):
        tvm.get_global_func("tvm.contrib.sort.argsort")(tvm.nd.array(data), out, 2, True)
    with pytest.raises(DiagnosticError, match="'both' has 1 outputs"):
        tvm.get_global_func("tvm.contrib.sort.topk")(tvm.nd.array(data), out, 2, 1, "both", True)
    with pytest.raises(DiagnosticError, match="has no 9 elements"):
        tvm.get_global_func("tvm.contrib.sort.topk")(tvm.nd.array(data), out, 9, 1, "values", True)


def test_kernels_call_them_by_name() -> None:
    """Guards calls within kernels; a script's own function of the name comes first."""
    a = te.placeholder((6,), name="A")
    order = te.extern(
        (6,), [a], lambda i, o: tir.call_packed("tvm.contrib.sort.argsort", i[0], o[0], 0, True), "order", "int32"
    )
    kernel = tvm.build(te.create_schedule(order.op), [a, order], "llvm")
    data, out = np.float32([3, 1, 2, 6, 5, 4]), tvm.nd.array(np.zeros(6, "int32"))
    kernel(tvm.nd.array(data), out)
    np.testing.assert_array_equal(out.numpy(), np.argsort(data))
    tvm.register_func("tvm.contrib.sort.argsort", lambda data, out, *options: out.copyfrom(np.full(6, 7, "int32")))
    try:
        kernel(tvm.nd.array(data), out)
    finally:
        tvm._ffi.registry.remove_global_func("tvm.contrib.sort.argsort")
    assert out.numpy().tolist() == [7] * 6


def test_random_tensors() -> None:
    """Guards ranges, dtypes and seeds; each call of a kernel draws anew."""
    made = [random.randint(-3, 300, (400,), "int8"), random.uniform(2, 3, (20, 20)), random.normal(5, 0.5, (400,))]
    kernels = [tvm.build(te.create_schedule(t.op), [t], "llvm") for t in made]
    seed = tvm.get_global_func("tvm.contrib.random.seed")

    def drawn() -> list[Any]:
        outs = [tvm.nd.empty([int(d) for d in t.shape], str(t.dtype)) for t in made]
        for kernel, out in zip(kernels, outs):
            kernel(out)
        return [out.numpy() for out in outs]

    seed(5)
    numbers, evenly, normally = first = drawn()
    again = drawn()
    seed(5)
    for one, other, same in zip(first, again, drawn()):
        assert (one != other).any()
        np.testing.assert_array_equal(one, same)
    assert (numbers.min(), numbers.max()) == (-3, 127)
    assert 2 <= evenly.min() < evenly.max() < 3
    assert abs(normally.mean() - 5) < 0.2
    filled = tvm.nd.empty((50,), "float16")
    tvm.get_global_func("tvm.contrib.random.random_fill")(filled)
    assert filled.numpy().min() >= 1
    with pytest.raises(TypeError, match="draws integers"):
        random.randint(0, 3, (4,), "float32")
    with pytest.raises(ValueError, match=r"no integers in \[3, 3\)"):
        tvm.get_global_func("tvm.contrib.random.randint")(3, 3, tvm.nd.empty((4,), "int32"))
    with pytest.raises(ValueError, match=r"no integers in \[300, 400\) of dtype uint8"):
        tvm.get_global_func("tvm.contrib.random.randint")(300, 400, tvm.nd.empty((4,), "uint8"))


@pytest.mark.parametrize("library", [cblas, mkl])
@pytest.mark.parametrize(("transa", "transb"), [(False, False), (True, False), (False, True)])
def test_products_by_a_library(library: Any, transa: bool, transb: bool) -> None:
    """Guards kernels that call BLAS, as in TVM's tutorial on external functions, with a stage of their own behind."""
    rng = np.random.default_rng(0)
    left = rng.standard_normal((4, 3) if transa else (3, 4), "float32")
    right = rng.standard_normal((5, 4) if transb else (4, 5), "float32")
    wanted = (left.T if transa else left) @ (right.T if transb else right) + 10
    a, b = te.placeholder(left.shape, name="A"), te.placeholder(right.shape, name="B")
    bias = te.var("bias", dtype="float32")
    product = library.matmul(a, b, transa, transb)
    moved = te.compute(product.shape, lambda i, j: product[i, j] + bias, "D")
    out = tvm.nd.empty((3, 5))
    kernel = tvm.build(te.create_schedule(moved.op), [a, b, moved, bias], "llvm")
    kernel(tvm.nd.array(left), tvm.nd.array(right), out, 10.0)
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_products_of_batches_and_of_bytes() -> None:
    """Guards a batch of one that goes with each, and sums of bytes in int32."""
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((1, 3, 4), "float32"), rng.standard_normal((2, 5, 4), "float32")
    out = tvm.nd.empty((2, 3, 5))
    for iterative in (False, True):
        a, b = te.placeholder(left.shape, name="A"), te.placeholder(right.shape, name="B")
        product = cblas.batch_matmul(a, b, transb=True, iterative=iterative)
        tvm.build(te.create_prim_func([a, b, product]))(tvm.nd.array(left), tvm.nd.array(right), out)
        np.testing.assert_allclose(out.numpy(), left @ right.swapaxes(1, 2), rtol=1e-5, atol=1e-5)
    few = np.full((2, 3), 200, "uint8"), np.full((3, 2), -100, "int8")
    a, b = te.placeholder((2, 3), "uint8", "A"), te.placeholder((3, 2), "int8", "B")
    product = mkl.matmul_u8s8s32(a, b, dtype="int32")
    whole = tvm.nd.empty((2, 2), "int32")
    tvm.build(te.create_prim_func([a, b, product]))(*map(tvm.nd.array, few), whole)
    assert whole.numpy().tolist() == [[-60000, -60000]] * 2


def test_remembered_results_belong_to_arguments_and_to_values_around() -> None:
    def made_with(scale: int) -> Any:
        @memoize("tests.scaled")
        def scaled(value: Any) -> Any:
            CALLS.append((scale, value))
            return scale * value

        return scaled

    assert [made_with(2)(3), made_with(2)(3), made_with(5)(3), made_with(2)(4)] == [6, 6, 15, 8]
    assert CALLS == [(2, 3), (5, 3), (2, 4)]
    assert [type(made_with(2)(value)) for value in (1, 1.0)] == [int, float]
    with pytest.raises(tvm.TVMError, match="cannot be remembered"):
        made_with(1)([3])
