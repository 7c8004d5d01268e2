"""Calls whose kernels read or wrote beside their operands, or gave numbers for what has none: refused by the rule where
sizes and dtypes tell, and by reference and kernel alike where only contents do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.samples import Arr, Sample
from baton._src.values.tensor import array
from tests.codegen.native_run import run_native
from tests.ops.inferred import infer, rejects, t
from tests.ops.sampled_calls import SampledCall, arrays_of
from tests.relax.machines import everywhere, fails_everywhere


@pytest.mark.parametrize(
    ("says", "name", "operands", "attributes"),
    [
        ("longer than that of the data", "scatter_elements", (t(4, 3), t(2, 4, dtype="int64"), t(2, 4)), {}),
        ("no class beside the background", "vision.multibox_transform_loc", (t(2, 1, 5), t(2, 20), t(1, 5, 4)), {}),
        ("no cells to propose boxes in", "vision.proposal", (t(2, 4, 0, 5), t(2, 8, 0, 5), t(2, 3)), {
            "scales": (1.0,), "ratios": (1.0, 2.0), "feature_stride": 8, "threshold": 0.3, "rpn_pre_nms_top_n": 0,
            "rpn_post_nms_top_n": 9, "rpn_min_size": 16, "iou_loss": True,
        }),
        ("no classes to draw from", "multinomial_from_uniform", (t(2, 0), t(3, 1), t(3, 1, dtype="int64")), {}),
        ("nothing has a position", "unravel_index", (t(5, dtype="int64"), t(0, dtype="int64")), {}),
        ("cannot be divided into 2 groups", "nn.conv2d_transpose", (t(1, 3, 3, 5), t(3, 2, 3, 3)), {"groups": 2}),
        ("floating-point elements, got int8", "nn.attention", (t(1, 3, 2, 4, dtype="int8"),) * 3, {}),
        ("floating-point elements, got int32", "grad.avg_pool1d_backward", (t(1, 2, 3, dtype="int32"),) * 2, {}),
        ("multiplies by fractions", "nn.contrib_conv2d_winograd_without_weight_transform",
         (t(1, 3, 5, 6, dtype="int32"), t(4, 4, 2, 3, dtype="int32")), {"padding": 1}),
        ("output_zero_point has dtype bool", "qnn.tanh",
         (t(2, dtype="int8"), t(), t(dtype="int32"), t(), t(dtype="bool")), {}),
        ("must be a finite number, got inf", "vision.roi_pool", (t(1, 2, 5, 5), t(1, 5)),
         {"pooled_size": 2, "spatial_scale": float("inf")}),
        ("must be a finite number, got nan", "vision.roi_align", (t(1, 2, 5, 5), t(1, 5)),
         {"pooled_size": 2, "spatial_scale": float("nan")}),
        ("where there is no maximum", "grad.max_pool2d_picked", (t(1, 2, 5, 5),) * 2, {"pool_size": 2, "padding": 9}),
    ],
)  # fmt: skip
def test_rules_refuse(says: str, name: str, operands: Any, attributes: dict[str, Any]) -> None:
    """By shapes, dtypes and attributes."""
    rejects(says, name, *operands, **attributes)


def test_fill_values_are_held_by_their_dtype() -> None:
    """Guards fill values of every operator that has one: floats among integers failed in code generation."""
    cases: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("nn.pad", {"pad_width": (1, 1, 0, 0)}, "pad_value"),
        ("nn.dilate", {"strides": (2, 1)}, "dilation_value"),
        ("nn.space_to_batch_nd", {"block_shape": (2,), "paddings": ((1, 1),)}, "pad_value"),
        ("sequence_mask", {}, "mask_value"),
        ("layout_transform", {"index_map": lambda i, j: (i, j // 4, j % 4)}, "pad_value"),
    )
    for name, attributes, fill in cases:
        lengths = (t(2, dtype="int32"),) if name == "sequence_mask" else ()
        for dtype, held, beyond in (("int8", -128, 128), ("uint64", 1.5, -1), ("bool", 1.0, 2)):
            infer(name, t(4, 2, dtype=dtype), *lengths, **{**attributes, fill: held})
            rejects(f"which {dtype} cannot hold", name, t(4, 2, dtype=dtype), *lengths, **{**attributes, fill: beyond})


NLL = """
@R.function
def main(g: R.Tensor((), "float32"), x: R.Tensor((2, 3), "float32"), t: R.Tensor((2,), "uint8")):
    return R.grad.nll_loss_backward(g, x, t, reduction="sum", ignore_index=-100)
"""
DRAW = """
@R.function
def main(p: R.Tensor((2, 3), "float32"), u: R.Tensor((1, 1), "float32"), i: R.Tensor((1, 1), "int64")):
    return R.multinomial_from_uniform(p, u, i)
"""


def test_what_contents_do_not_name_is_refused_everywhere() -> None:
    """Guards gradients of targets that are no class, which were 0, and draws from rows that are not there."""
    given = array(np.float32(1)), array(np.zeros((2, 3), "float32"))
    found = everywhere(NLL, *given, array(np.array([2, 0], "uint8"))).numpy()
    np.testing.assert_array_equal(found, [[0, 0, -1], [-1, 0, 0]])
    fails_everywhere(NLL, *given, array(np.array([3, 0], "uint8")), says="out of range")
    odds = array(np.array([[0.2, 0.3, 0.5], [0.5, 0.5, 0.0]], "float32")), array(np.full((1, 1), 0.4, "float32"))
    assert everywhere(DRAW, *odds, array(np.array([[1]]))).numpy().tolist() == [[0]]
    fails_everywhere(DRAW, *odds, array(np.array([[2]])))


CSR = (Arr((3,)), Arr((3,), "int32", values=(0, 1, 1)))


@pytest.mark.parametrize(
    ("name", "operands", "says"),
    [
        ("nn.sparse_transpose", (*CSR, Arr((3,), "int32", values=(0, 2, 2))), "not where the elements do"),
        ("nn.sparse_transpose", (*CSR, Arr((4,), "int32", values=(0, 3, 2, 3))), "begins at 3"),
        ("nn.sparse_add", (Arr((2, 1)), *CSR, Arr((3,), "int32", values=(0, 1, 3))), "out of range"),
        (
            "sparse_reshape",
            tuple(Arr(np.shape(v), "int64", values=v) for v in (((0, 3),), (2, 3), (6,))),
            "coordinate 3 is out of range",
        ),
        (
            "sparse_reshape",
            tuple(Arr(np.shape(v), "int64", values=v) for v in (((0, 2),), (2, 3), (4, 2))),
            "8 elements",
        ),
    ],
)
def test_kernels_and_references_refuse(name: str, operands: Any, says: str) -> None:
    """Guards sparse tensors whose parts contradict each other: results were what lay in memory."""
    call = SampledCall(CATALOGUE.get(name), Sample(operands), symbolic=False)
    declared: Any = call.infer()
    with pytest.raises((IndexError, ValueError)):
        call.reference()
    results = [np.zeros(f.shape, f.dtype.numpy) for f in getattr(declared, "fields", (declared,))]
    fault = run_native(call.prim_func(declared)[0], *arrays_of(call.values), *results)
    assert fault is not None
    assert says in fault


def test_the_longest_window_is_known_at_once() -> None:
    """Guards adaptive pooling to huge extents, whose windows were looked at one by one: building did not end."""
    pool = CATALOGUE.get("nn.adaptive_avg_pool1d")
    call = SampledCall(pool, Sample((Arr((1, 1, 7)),), pool.attrs(output_size=2**62)), symbolic=False)
    assert call.prim_func(call.infer())[1][0].shape[2].value == 2**62
