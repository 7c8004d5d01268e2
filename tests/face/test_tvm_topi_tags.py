"""What topi computes carries TVM's tags, by which scripts' schedules find stages; its parameters have TVM's names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import te, topi
from tests.face.topi_programs import numbers, run, tensor

IMAGES = (1, 4, 8, 8)
TAGS: dict[str, Callable[[], Any]] = {
    "conv2d_nchw": lambda: topi.nn.conv2d_nchw(tensor(*IMAGES), tensor(6, 4, 3, 3), 1, 1, 1),
    "conv2d_nhwc": lambda: topi.nn.conv2d_nhwc(tensor(1, 8, 8, 4), tensor(3, 3, 4, 6), 1, 1, 1),
    "group_conv2d_nchw": lambda: topi.nn.group_conv2d_nchw(tensor(*IMAGES), tensor(6, 2, 3, 3), 1, 1, 1, 2),
    "depthwise_conv2d_nchw": lambda: topi.nn.depthwise_conv2d_nchw(tensor(*IMAGES), tensor(4, 1, 3, 3), 1, 1, 1),
    "conv2d_transpose_nchw": lambda: topi.nn.conv2d_transpose_nchw(
        tensor(*IMAGES), tensor(4, 6, 3, 3), (2, 2), (1, 1), "float32", (1, 1)
    ),
    "conv1d_ncw": lambda: topi.nn.conv1d_ncw(tensor(1, 4, 8), tensor(6, 4, 3), 1, "SAME"),
    "dense": lambda: topi.nn.dense(tensor(3, 5), tensor(7, 5)),
    "matmul": lambda: topi.nn.matmul(tensor(3, 5), tensor(5, 7)),
    "batch_matmul": lambda: topi.nn.batch_matmul(tensor(2, 3, 5), tensor(2, 4, 5)),
    "pool_max": lambda: topi.nn.pool2d(tensor(*IMAGES), (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max"),
    "adaptive_pool_max": lambda: topi.nn.global_pool(tensor(*IMAGES), "max"),
    "softmax_output": lambda: topi.nn.softmax(tensor(3, 5)),
    "comm_reduce_idx": lambda: topi.argmax(tensor(3, 5), axis=1),
    "injective,pad": lambda: topi.nn.pad(tensor(*IMAGES), (0, 0, 1, 1)),
    "injective,dilate": lambda: topi.nn.dilate(tensor(*IMAGES), (1, 1, 2, 2)),
    "elemwise": lambda: topi.nn.pool2d(tensor(*IMAGES), (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "avg"),
}


@pytest.mark.parametrize("tag", TAGS)
def test_results_have_their_tags(tag: str) -> None:
    assert TAGS[tag]().op.tag == tag


def test_schedules_find_what_they_inline() -> None:
    """Guards how scripts schedule convolutions: their stage by its tag, the border of their data by "pad" in it."""
    data, kernel = tensor(1, 3, 8, 8), tensor(4, 3, 3, 3)
    out = topi.nn.relu(topi.nn.conv2d_nchw(data, kernel, 1, 1, 1))
    schedule = te.create_schedule(out.op)
    found = []

    def visit(op: Any) -> None:
        if "conv2d_nchw" in op.tag:
            border = op.input_tensors[0]
            assert "pad" in border.op.tag
            schedule[border].compute_inline()
            found.append(op.name)

    topi.utils.traverse_inline(schedule, out.op, visit)
    assert len(found) == 1
    given = numbers(1, 3, 8, 8), numbers(4, 3, 3, 3)
    result = tvm.nd.empty((1, 4, 8, 8))
    tvm.build(schedule, [data, kernel, out], target="llvm")(*map(tvm.nd.array, given), result)
    expected = np.maximum(topi.testing.conv2d_nchw_python(*given, 1, 1), 0)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5, atol=1e-5)


def test_a_scripts_own_tag_comes_first() -> None:
    with te.tag_scope("mine"):
        out = topi.nn.dense(tensor(3, 5), tensor(7, 5))
    assert out.op.tag == "mine"


SIGNATURES = {
    "nn.conv2d": "input filter strides padding dilation data_layout kernel_layout out_dtype",
    "nn.conv2d_nchw": "Input Filter stride padding dilation out_dtype",
    "nn.group_conv1d_ncw": "data kernel strides padding dilation groups out_dtype",
    "nn.group_conv2d_nhwc": "Input Filter stride padding dilation groups out_dtype",
    "nn.conv1d_transpose_ncw": "data kernel stride padding out_dtype output_padding groups",
    "nn.conv2d_transpose_nchw": "Input Filter strides padding out_dtype output_padding groups",
    "nn.group_conv2d_transpose_nchw": "data kernel stride padding out_dtype output_padding groups",
    "nn.pool_grad": "grads data kernel stride padding pool_type ceil_mode count_include_pad layout",
    "nn.adaptive_pool1d": "data output_size pool_type layout",
    "nn.sparse_transpose": "sparse_data sparse_indices sparse_indptr",
    "nn.upsampling": "data scale_h scale_w layout method align_corners output_shape",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_parameters_have_tvms_names_and_order(name: str) -> None:
    _, _, last = name.rpartition(".")
    assert list(inspect.signature(getattr(topi.nn, last)).parameters) == SIGNATURES[name].split()


def test_layouts_of_tvms_tuners_are_refused() -> None:
    """A weight that another tuner laid out anew would be read as if it were not: dense ignored the word."""
    assert topi.nn.dense(tensor(3, 5), tensor(7, 5), auto_scheduler_rewritten_layout="").ndim == 2
    with pytest.raises(tvm.TVMError, match="dense does not take auto_scheduler_rewritten_layout"):
        topi.nn.dense(tensor(3, 5), tensor(7, 5), auto_scheduler_rewritten_layout="2i3o")


def test_transposed_convolutions_by_their_parts() -> None:
    """Guards conv2d_transpose_nchw_preprocess: a convolution of stride 1 takes what it gives to the result."""
    data, kernel = tensor(1, 4, 5, 6), tensor(4, 3, 3, 2)
    geometry = ((2, 1), (1, 0), "float32", (1, 0))
    spread, mirrored = topi.nn.conv2d_transpose_nchw_preprocess(data, kernel, *geometry)
    parts = topi.nn.conv2d_nchw(spread, mirrored, 1, 0, 1)
    whole = topi.nn.conv2d_transpose_nchw(data, kernel, *geometry)
    given = numbers(1, 4, 5, 6), numbers(4, 3, 3, 2)
    np.testing.assert_allclose(
        run([data, kernel], parts, *given), run([data, kernel], whole, *given), rtol=1e-5, atol=1e-5
    )


def test_blocks_of_channels() -> None:
    """Guards conv2d_NCHWc_int8's order of kernels, and unpacking: as the plain convolution of the same numbers."""
    data, kernel = numbers(1, 8, 6, 6, dtype="int8"), numbers(8, 8, 3, 3, dtype="int8")
    blocked = data.reshape(1, 2, 4, 6, 6).transpose(0, 1, 3, 4, 2)
    parts = kernel.reshape(2, 4, 1, 8, 3, 3).reshape(2, 4, 2, 1, 4, 3, 3).transpose(0, 2, 5, 6, 3, 1, 4)
    a, w = tensor(*blocked.shape, dtype="int8"), tensor(*parts.shape, dtype="int8")
    packed = topi.nn.conv2d_NCHWc_int8(a, w, 1, 0, 1, "NCHW4c", "NCHW4c")
    out = topi.nn.unpack_NCHWc_to_nchw(packed, "int32")
    assert out.op.tag == "injective,unpack_nchwc"
    expected = topi.testing.conv2d_nchw_python(data.astype("int32"), kernel.astype("int32"), 1, 0)
    np.testing.assert_array_equal(
        run([a, w], out, np.ascontiguousarray(blocked), np.ascontiguousarray(parts)), expected
    )


def test_kernels_transformed_beforehand() -> None:
    data, kernel = tensor(1, 3, 9, 9), tensor(4, 3, 3, 3)
    transformed = topi.nn.conv2d_winograd_weight_transform(kernel, 4)
    out = topi.nn.conv2d_winograd_nchw_without_weight_transform(data, transformed, 1, 1, 1, "float32")
    given = numbers(1, 3, 9, 9), numbers(4, 3, 3, 3)
    expected = topi.testing.conv2d_nchw_python(*given, 1, 1)
    np.testing.assert_allclose(run([data, kernel], out, *given), expected, rtol=1e-3, atol=1e-4)


def test_sparse_products_from_either_side() -> None:
    dense, weight = numbers(3, 4), np.array([[0, 2, 0, 0], [0, 0, 0, 0], [1, 0, 0, 3]], np.float32)
    parts = np.array([2, 1, 3], np.float32), np.array([1, 0, 3], np.int32), np.array([0, 1, 1, 3], np.int32)
    x, data, indices, indptr = tensor(3, 4), tensor(3), tensor(3, dtype="int32"), tensor(4, dtype="int32")
    right = topi.nn.sparse_dense_sp_rhs(x, data, indices, indptr)
    left = topi.nn.sparse_dense_sp_lhs(data, indices, indptr, x)
    assert (right.op.tag, left.op.tag) == ("sparse_dense_sp_rhs_csrmm", "sparse_dense_sp_lhs_csrmm")
    np.testing.assert_allclose(run([x, data, indices, indptr], right, dense, *parts), dense @ weight.T, rtol=1e-5)
    np.testing.assert_allclose(run([x, data, indices, indptr], left, dense, *parts), weight @ dense.T, rtol=1e-5)


def test_detection_is_decoding_and_suppression() -> None:
    """Guards multibox_detection: of two boxes that are nearly one, the less certain is suppressed."""
    scores = np.array([[[0.1, 0.2], [0.9, 0.8]]], np.float32)
    anchors = np.array([[[0.1, 0.1, 0.5, 0.5], [0.1, 0.1, 0.5, 0.52]]], np.float32)
    operands = [tensor(1, 2, 2), tensor(1, 8), tensor(1, 2, 4)]
    out = topi.vision.ssd.multibox_detection(*operands, nms_threshold=0.5)
    found = run(operands, out, scores, np.zeros((1, 8), np.float32), anchors)
    np.testing.assert_allclose(found[0, 0], [0, 0.9, 0.1, 0.1, 0.5, 0.5], rtol=1e-5)
    assert found[0, 1, 0] == -1
