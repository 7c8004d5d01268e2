"""The helpers of topi with which scripts write operators of their own: shapes, layouts, paddings, slices, tags."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import te, tir, topi
from tests.face.topi_programs import numbers, run, tensor


def test_words_of_scripts_with_kernels_of_their_own() -> None:
    """Guards topi.utils: indices, tables, and visiting what a result is computed from."""
    utils = topi.utils
    table = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    matrix = utils.const_matrix(table)
    x = tensor(2, 3)
    flat = te.compute((6,), lambda i: x(*utils.unravel_index(i, (2, 3))) * matrix(*utils.unravel_index(i, (2, 3))))
    data = numbers(2, 3)
    np.testing.assert_allclose(run([x], flat, data), (data * table).ravel(), rtol=1e-6)
    assert utils.unravel_index(tir.const(5, "int32"), (3, 0)) == [5, 0]  # an axis without elements has no index
    assert utils.equal_const_int(x.shape[1], 3)
    assert utils.get_const_float(2) == 2.0
    assert utils.get_const_int(utils.ravel_index([tvm.tir.const(1, "int32"), 2], (2, 3))) == 5
    assert run([], utils.const_vector(np.array([5, 3], np.int32))).tolist() == [5, 3]
    assert utils.get_float_tuple([tvm.tir.const(0.5), 2]) == (0.5, 2.0)
    assert [utils.get_max_power2_factor(*given) for given in ((24,), (24, 7), (7,))] == [8, 4, 1]


def test_small_helpers_of_scripts() -> None:
    """Guards what topi.utils asks of shapes and of the target in force, and topi.testing's comparison of a kernel."""
    utils = topi.utils
    assert utils.ceil_div(7, 2) == 4
    assert utils.swap([1, 2, 3, 4], 1) == [1, 4, 3, 2]
    assert utils.is_dynamic_shape((1, te.size_var("n")))
    assert not utils.is_dynamic_shape(tensor(2, 3).shape)
    assert utils.ncw_pack_layout("NCW2n8c")
    assert utils.ncw_xc_layout("NCW8c")
    assert not utils.ncw_xc_layout("NCW")
    with tvm.target.Target("llvm"):
        assert utils.is_target("cpu")
        assert not utils.is_target(["cuda", "gpu"])
    data = numbers(3, 4)
    given = ([data], np.exp(data), "llvm", tvm.cpu(), topi.exp, topi.generic.schedule_injective)
    topi.testing.compare_numpy_tvm(*given)
    with pytest.raises(AssertionError):
        topi.testing.compare_numpy_tvm([data], data, *given[2:])


def test_layouts_and_pads_of_scripts_convolutions() -> None:
    """Guards layouts by name and paddings in all their forms, and what stages of a convolution tell."""
    utils = topi.utils
    assert utils.nchw_pack_layout("NCHW2n8c")
    assert not utils.nchw_pack_layout("NCHW8c")
    assert utils.nchw_xc_layout("NCHW8c")
    assert not utils.nchw_xc_layout("NCHW")
    assert utils.get_shape((1, 4, 7, 9, 8), "NCHW8c", "NHWC8c") == (1, 7, 9, 4, 8)
    with pytest.raises(tvm.TVMError, match="different axes"):
        utils.get_shape((1, 4, 7, 9), "NCHW", "NCHW4c")
    sides = topi.nn.utils.get_pad_tuple
    assert sides("SAME", (4, 3)) == (2, 1, 1, 1)
    assert sides((1, 2), (3, 3)) == (1, 2, 1, 2)
    assert sides([1, 2, 3, 4], (3, 3)) == (1, 2, 3, 4)
    assert sides("VALID", (3, 3)) == (0, 0, 0, 0)
    assert topi.nn.get_pad_tuple1d(2, (3,)) == (2, 2)
    assert topi.nn.get_pad_tuple3d("SAME", (3, 1, 2)) == (
        1,
        0,
        1,
        1,
        0,
        0,
    )
    with pytest.raises(ValueError, match="no padding of 2 axes"):
        sides((1, 2, 3), (3, 3))
    data, kernel = tensor(1, 2, 9, 8), tensor(4, 2, 3, 3)
    out = topi.nn.conv2d_nchw(data, kernel, (2, 3), (1, 2), 1)
    padded = out.op.input_tensors[0]
    assert topi.nn.infer_pad(data, padded) == (1, 2)
    assert topi.nn.infer_pad(data, None) == (0, 0)
    assert topi.nn.infer_stride(padded, kernel, out) == (2, 3)
    assert topi.nn.utils.infer_pad3d(tensor(1, 4, 5, 6, 2), tensor(1, 6, 5, 9, 2), "NDHWC") == (2, 0, 3)


@pytest.mark.parametrize("bounds", [(1, 9, 3), (8, 0, -3), (9, -1, -2), (0, 10, 1), (5, 5, 2)])
def test_places_of_slices(bounds: tuple[int, int, int]) -> None:
    """Guards topi.utils.within_index and make_idx against NumPy's slices, with bounds as numbers and as elements."""
    utils = topi.utils
    begin, end, step = bounds
    taken = np.arange(10)[begin : None if end < 0 else end : step]
    wanted = [int(np.nonzero(taken == i)[0][0]) if i in taken else -1 for i in range(10)]

    def place(b: tvm.tir.PrimExpr, e: tvm.tir.PrimExpr, s: tvm.tir.PrimExpr, i: tvm.tir.Var) -> tvm.tir.PrimExpr:
        return te.if_then_else(utils.within_index(b, e, s, i), utils.make_idx(b, e, s, 10, i), -1)

    given = te.placeholder((3,), "int32", "bounds")
    known = te.compute((10,), lambda i: place(begin, end, step, i))
    varying = te.compute((10,), lambda i: place(given[0], given[1], given[2], i))
    assert run([], known).tolist() == wanted
    assert run([given], varying, np.array(bounds, np.int32)).tolist() == wanted


def test_schedules_find_stages_by_their_tags() -> None:
    """Guards the tags of topi's computations, and inlining of what is injective: reductions end the walk."""
    x = tensor(4, 6)
    total = topi.sum(topi.nn.relu(x), axis=1)
    result = topi.add(topi.exp(topi.transpose(x)), topi.cast(total, "float32"))
    assert (total.op.tag, result.op.tag, x.op.tag) == ("comm_reduce", "broadcast", "")
    schedule = te.create_schedule(result.op)
    seen: list[str] = []
    topi.utils.traverse_inline(schedule, result.op, lambda op: seen.append(op.tag))
    assert seen == ["injective", "elemwise", "comm_reduce", "elemwise", "broadcast"]
    data = numbers(4, 6)
    wanted = np.exp(data.T) + np.maximum(data, 0).sum(1)
    np.testing.assert_allclose(run([x], result, data), wanted, rtol=1e-5)
    with te.tag_scope("mine"):
        assert topi.nn.relu(x).op.tag == "mine"


def test_borders_of_open_widths() -> None:
    """Guards topi.nn.pad by expressions of sizes: they ended in Python's own error."""
    n = te.var("n")
    x = te.placeholder((n, 3), name="x")
    out = topi.nn.pad(x, (0, 1), (n, 2), 0.5)
    kernel = tvm.build(te.create_schedule(out.op), [x, out], target="llvm")
    data, found = numbers(2, 3), tvm.nd.empty((4, 6))
    kernel(tvm.nd.array(data), found)
    np.testing.assert_array_equal(found.numpy(), np.pad(data, ((0, 2), (1, 2)), constant_values=0.5))
    assert out.op.tag == "injective,pad"


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8"])
def test_integer_literals_beside_tensors(dtype: str) -> None:
    """Guards topi.add(x, 1), which was refused: the literal is an int32, and the wider dtype wins, as in TVM."""
    x, data = tensor(3, dtype=dtype), np.array([1, 2, 3], dtype)
    result = "int32" if dtype == "uint8" else dtype
    for made, expected in (
        (topi.add(x, 1), data + 1),
        (topi.multiply(2, x), 2 * data),
        (topi.maximum(x, 2), [2, 2, 3]),
    ):
        assert made.dtype == result
        np.testing.assert_array_equal(run([x], made, data), np.array(expected, result))


@pytest.mark.parametrize(
    ("dtype", "scalar"),
    [
        ("float16", 1.5),
        ("float16", True),
        ("int32", 1.5),
        ("int32", True),
        ("float16", tir.const(1.5, "float16")),
        ("float16", tir.const(1.5, "float32")),
        ("int32", tir.const(2, "int64")),
    ],
)
def test_operands_of_elementwise_functions_have_one_dtype(dtype: str, scalar: Any) -> None:
    """Guards floats, conditions and expressions beside tensors, which were refused: elements are matched."""
    x, data = tensor(3, dtype=dtype), np.array([1, 2, 3], dtype)
    number = scalar if isinstance(scalar, (bool, float)) else scalar.value
    for made, expected in ((topi.add(x, scalar), data + number), (topi.multiply(scalar, x), number * data)):
        assert made.dtype == (x[0] + scalar).dtype
        np.testing.assert_array_equal(run([x], made, data), np.array(expected, str(made.dtype)))


def test_tensors_of_different_dtypes_are_matched() -> None:
    """Guards topi.add(halves, ints) and comparisons with a number between integers, which were refused."""
    halves, ints = tensor(3, dtype="float16"), tensor(3, dtype="int32")
    a, b = np.array([1, 2, 3], "float16"), np.array([4, 5, 6], "int32")
    total = topi.add(halves, ints)
    assert total.dtype == "float16"
    np.testing.assert_array_equal(run([halves, ints], total, a, b), np.array([5, 7, 9], "float16"))
    np.testing.assert_array_equal(run([ints], topi.greater(ints, 4.5), b), [False, True, True])


def test_casts_of_tensors_and_scalars() -> None:
    """Guards topi.cast of scalar expressions, and its third parameter."""
    x, n = tensor(3), te.var("n")
    made = topi.cast(x, "int8", None)
    np.testing.assert_array_equal(run([x], made, np.array([1.5, -2.5, 3], np.float32)), np.array([1, -2, 3], np.int8))
    assert (topi.cast(n, "int64").dtype, topi.cast(n, "int32")) == ("int64", n)


def test_elementwise_functions_of_scalars() -> None:
    """Guards sizes computed by topi: they are scalar expressions, and were tensors of no axes."""
    n = te.var("n")
    assert tvm.ir.structural_equal(topi.add(n, 1), n + 1)
    assert tvm.ir.structural_equal(topi.maximum(1, n), tir.max(1, n))
    assert tvm.ir.structural_equal(topi.divide(n, 2), tir.truncdiv(n, 2))
    assert topi.multiply(n, 0.5).dtype == "float32"
    assert topi.greater(n, 2).dtype == "bool"


def test_references_of_convolutions_by_place() -> None:
    """Guards what stands behind the padding: of one axis the dilation, which was taken for the groups; and the names
    for groups, blocks and channels last."""
    testing = topi.testing
    data, kernel = numbers(1, 4, 9), numbers(6, 4, 3)
    spread = np.zeros((6, 4, 5), "float32")
    spread[..., ::2] = kernel
    np.testing.assert_allclose(
        testing.conv1d_ncw_python(data, kernel, 1, "SAME", 2), testing.conv1d_ncw_python(data, spread, 1, 2), rtol=1e-5
    )
    halves = [testing.conv1d_ncw_python(data[:, c : c + 2], kernel[c // 2 * 3 :][:3, :2], 2, 1, 1) for c in (0, 2)]
    found = testing.group_conv1d_ncw_python(data, kernel[:, :2], 2, 1, 1, 2)
    np.testing.assert_allclose(found, np.concatenate(halves, axis=1), rtol=1e-5)
    with pytest.raises(TypeError, match="come groups, got 2"):
        testing.conv2d_nchw_python(numbers(1, 1, 3, 3), numbers(1, 1, 3, 3), 1, 1, 1, 1)
    image, weight = numbers(1, 4, 5, 5), numbers(4, 3, 3, 3)
    last = testing.conv2d_transpose_nhwc_python(
        image.transpose(0, 2, 3, 1), weight.transpose(2, 3, 1, 0), "HWOI", 2, 1, (1, 1)
    )
    plain = testing.conv2d_transpose_nchw_python(image, weight, 2, 1, (1, 1))
    np.testing.assert_allclose(last, plain.transpose(0, 2, 3, 1), rtol=1e-5)
    depthwise = numbers(4, 1, 3, 3)
    blocks = image.reshape(1, 2, 2, 5, 5).transpose(0, 1, 3, 4, 2)
    packed = depthwise.reshape(2, 2, 1, 1, 3, 3).transpose(0, 2, 4, 5, 3, 1)
    found = testing.depthwise_conv2d_python_nchwc(blocks, packed, 1, "SAME")
    plain = testing.depthwise_conv2d_python_nchw(image, depthwise, 1, 1)
    np.testing.assert_allclose(found.transpose(0, 1, 4, 2, 3).reshape(1, 4, 5, 5), plain, rtol=1e-5)


def test_references_of_layers() -> None:
    """Guards them by kernels and by what is plain: batch norm of training, gradients of pools, attention, an LSTM."""
    testing = topi.testing
    x, gamma, beta, mean, variance = numbers(6, 3), numbers(3), numbers(3), numbers(3), np.abs(numbers(3))
    made, moved, spread = testing.batch_norm(x, gamma, beta, mean, variance, 1, 1e-5, True, False, True, 0.25)
    np.testing.assert_allclose(made, (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) + beta, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(moved, 0.75 * mean + 0.25 * x.mean(0), rtol=1e-5)
    np.testing.assert_allclose(spread, 0.75 * variance + 0.25 * x.var(0), rtol=1e-5)
    pooled = testing.pool_grad_nchw(numbers(1, 1, 4, 4), np.ones((1, 1, 2, 2)), (2, 2), (2, 2), (0,) * 4, "avg", False)
    np.testing.assert_array_equal(pooled, np.full((1, 1, 4, 4), 0.25))
    q, k, v = numbers(2, 3, 4, 5), numbers(2, 6, 2, 5), numbers(2, 6, 2, 7)
    found = testing.attention_python(q, k, v, None, "none", "BottomRight")
    score = np.einsum("bsnh,btnh->bnst", q, np.repeat(k, 2, axis=2)) / np.sqrt(5)
    weights = np.exp(score) * np.tri(3, 6, 3)
    wanted = np.einsum("bnst,btnh->bsnh", weights / weights.sum(-1, keepdims=True), np.repeat(v, 2, axis=2))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    turned = testing.attention_python(*(t.transpose(0, 2, 1, 3) for t in (q, k, v)), None, "none", "none", None, "BNSH")
    np.testing.assert_allclose(
        turned.transpose(0, 2, 1, 3), testing.attention_python(q, k, v, None, "none", "none"), rtol=1e-5
    )
    given = [numbers(5, 2, 4), numbers(12, 4), numbers(12, 2), numbers(12), None, None, None, numbers(2, 3)]
    tensors = [None if g is None else te.placeholder(g.shape, name=f"t{n}") for n, g in enumerate(given)]
    kernel = topi.nn.lstm(*tensors, reverse=True, weight_layout="OIFG")
    found = run([t for t in tensors if t is not None], kernel, *(g for g in given if g is not None))
    for one, other in zip(found, testing.lstm_python(*given, reverse=True, weight_layout="OIFG")):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_references_of_boxes_in_both_layouts() -> None:
    testing, boxes = topi.testing, np.array([[0, 0.5, 0.5, 3, 3]], "float32")
    image = numbers(1, 2, 5, 5)
    first = testing.roi_align_nchw_python(image, boxes, (2, 2), 1.0, 2, 1)
    last = testing.roi_align_nhwc_python(image.transpose(0, 2, 3, 1), boxes, (2, 2), 1.0, 2, b"max")
    np.testing.assert_array_equal(first.transpose(0, 2, 3, 1), last)
    compute, schedule = testing.get_conv2d_nchw_implement("llvm")
    data, kernel = tensor(1, 2, 5, 5), tensor(3, 2, 3, 3)
    assert schedule([compute(data, kernel, 1, 0, 1)]) is not None
