"""Operators of vision, images, random numbers and quantisation refuse operands and attributes that do not fit, when
types are inferred: kernels would read beside the rows they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton import IRModule, relay
from baton._src.support.diagnostics import DiagnosticError

ROWS = relay.var("rows", shape=(1, 4, 6))
COUNT = relay.var("count", shape=(1,), dtype="int32")
PLACES = relay.var("places", shape=(1, 4), dtype="int32")
IMAGE = relay.var("image", shape=(1, 3, 4, 4))
SCORES, OFFSETS, ANCHORS = (relay.var(f"a{i}", shape=s) for i, s in enumerate([(1, 3, 5), (1, 20), (1, 5, 4)]))
BOXES, WHICH = relay.var("boxes", shape=(2, 4)), relay.var("which", shape=(2,), dtype="int32")
KEY = relay.random.threefry_key(0)
WORDS = relay.var("words", shape=(2,), dtype="uint64")


def variable(*shape: int, dtype: str = "float32") -> Any:
    return relay.var("other", shape=shape, dtype=dtype)


def suppressed(rows: Any = ROWS, count: Any = COUNT, places: Any = PLACES, **attributes: Any) -> Any:
    found = relay.vision.non_max_suppression(rows, count, places, relay.const(-1), relay.const(0.5), **attributes)
    return found.astuple() if isinstance(found, relay.expr.TupleWrapper) else found


def located(scores: Any = SCORES, offsets: Any = OFFSETS, anchors: Any = ANCHORS) -> Any:
    return relay.vision.multibox_transform_loc(scores, offsets, anchors).astuple()


def every_class(boxes: Any, scores: Any) -> Any:
    limits = (relay.const(3), relay.const(0.5), relay.const(0.1))
    return relay.vision.all_class_non_max_suppression(boxes, scores, *limits).astuple()


def scattered(places: Any, values: Any) -> Any:
    return relay.sparse_to_dense(places, (5, 6), values, relay.const(0.0))


def blocks_of_columns(columns: int) -> Any:
    starts, places = (relay.var(n, shape=(3,), dtype="int32") for n in ("starts", "places"))
    return relay.nn.sparse_dense(relay.var("x", shape=(3, columns)), (variable(3, 2, 2), places, starts))


def weight_gradient(grad: tuple[int, ...]) -> Any:
    return relay.nn.conv2d_backward_weight(variable(*grad), IMAGE, kernel_size=(3, 3))


def convolved(outputs: int, layout: str, result: str) -> Any:
    data = variable(1, 2, 5, 6, 8) if layout == "NCHW8c" else variable(1, 16, 5, 6)
    layouts = {"data_layout": layout, "kernel_layout": "OIHW", "out_layout": result}
    return relay.nn.conv2d(data, relay.var("weight", shape=(outputs, 16, 3, 3)), **layouts)


def proposed(offsets: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    operands = (relay.var("scores", shape=(1, 12, 3, 3)), relay.var("offsets", shape=offsets), variable(*sizes))
    return relay.vision.proposal(*operands, [4.0, 8.0], [0.5, 1.0, 2.0], 16, 0.7, 20, 5, 1, False)


MATRIX, VALUES = relay.var("matrix", shape=(3, 4)), relay.var("values", shape=(4,))
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: relay.slice_like(MATRIX, variable(2), axes=(-1,)), "axis 1 is out of range for the pattern"),
    (lambda: blocks_of_columns(5), "5 columns of the dense operand are no multiple of blocks of 2"),
    (lambda: scattered(variable(4, 3, dtype="int32"), VALUES), "coordinates of the 2 axes"),
    (lambda: scattered(variable(4, dtype="int32"), VALUES), "coordinates of the 2 axes"),
    (lambda: scattered(variable(5, 2, dtype="int32"), VALUES), "4 values for indices"),
    (
        lambda: relay.nn.max_pool2d(variable(1, 2, 4, 4, 3), (2, 2), layout="NCHW4c"),
        "a block of 4 in the layout NCHW4c",
    ),
    (
        lambda: relay.nn.max_pool2d(IMAGE, (2, 2), layout="NCHW", out_layout="NCHW2c"),
        "3 elements along C cannot be cut",
    ),
    (lambda: convolved(12, "NCHW8c", ""), "12 elements along C cannot be cut into blocks of 8"),
    (lambda: convolved(12, "NCHW", "NCHW8c"), "12 elements along C cannot be cut into blocks of 8"),
    (lambda: weight_gradient((2, 4, 2, 2)), "2 images of the gradient for 1"),
    (lambda: weight_gradient((1, 4, 2, 3)), "3 elements along W, the data only 2 windows"),
    (lambda: proposed((1, 24, 3, 4), (1, 3)), r"bbox_pred \(1, 24, 3, 4\) does not fit cls_prob"),
    (lambda: proposed((1, 24, 3, 3), (2, 3)), r"im_info \(2, 3\) does not fit cls_prob"),
    (lambda: relay.sequence_mask(MATRIX, variable(3, dtype="int32")), "3 lengths for a batch of 4"),
    (lambda: relay.sequence_mask(MATRIX, variable(4, dtype="int32"), axis=1), "4 lengths for a batch of 3"),
    (lambda: relay.matrix_set_diag(MATRIX, variable(2)), r"longest diagonal of \(3, 4\) has 3 elements, got 2"),
    (lambda: relay.matrix_set_diag(MATRIX, variable(3, 3), k=(0, 1)), "names 2 diagonals, got 3"),
    (lambda: relay.vision.get_valid_counts(ROWS, 0.5, 0, 6).astuple(), "score_index is 6"),
    (lambda: relay.vision.get_valid_counts(ROWS, 0.5, 0, -1).astuple(), "score_index is -1"),
    (lambda: relay.vision.get_valid_counts(ROWS, 0.5, 6, 1).astuple(), "id_index is 6"),
    (lambda: relay.vision.get_valid_counts(variable(1, 4, 6, dtype="int8"), 1).astuple(), "floating-point"),
    (lambda: suppressed(coord_start=3), "coord_start is 3"),
    (lambda: suppressed(score_index=6), "score_index is 6"),
    (lambda: suppressed(id_index=6), "id_index is 6"),
    (lambda: suppressed(rows=variable(1, 4, 6, dtype="int8")), "floating-point"),
    (lambda: suppressed(count=variable(1)), "must hold integers"),
    (lambda: suppressed(count=variable(3, dtype="int32")), r"valid_count \(3,\) does not fit"),
    (lambda: suppressed(places=variable(1, 2, dtype="int32")), r"indices \(1, 2\) does not fit"),
    (lambda: relay.vision.multibox_prior(IMAGE, ratios=(1.0, -2.0)), "ratios must be positive"),
    (lambda: relay.vision.multibox_prior(variable(1, 3, 4, 4, dtype="bool")), "floating-point"),
    (lambda: located(anchors=variable(1, 5, 3)), r"anchor \(1, 5, 3\) does not fit"),
    (lambda: located(anchors=variable(1, 2, 4)), r"anchor \(1, 2, 4\) does not fit"),
    (lambda: located(offsets=variable(2, 20)), r"loc_pred \(2, 20\) does not fit"),
    (lambda: located(scores=variable(1, 3, 5, dtype="int32")), "floating-point"),
    (lambda: every_class(variable(1, 5, 4, dtype="int32"), relay.var("s", shape=(1, 2, 5))), "floating-point"),
    (lambda: relay.image.crop_and_resize(IMAGE, BOXES, variable(2), (2, 2), "NCHW"), "must hold integers"),
    (lambda: relay.image.crop_and_resize(IMAGE, BOXES, variable(3, dtype="int32"), (2, 2), "NCHW"), "box_indices"),
    (lambda: relay.image.crop_and_resize(IMAGE, BOXES, WHICH, (-1, 2), "NCHW"), "negative extent"),
    (
        lambda: relay.image.crop_and_resize(IMAGE, BOXES, WHICH, ((1, 2), (2, 2)), "NCHW"),
        "cannot have these attributes",
    ),
    (lambda: relay.nn.adaptive_max_pool2d(IMAGE, ((1, 2), (2, 2))), "cannot have these attributes"),
    (lambda: relay.nn.adaptive_avg_pool2d(IMAGE, "ab"), "cannot have these attributes"),
    (lambda: relay.image.dilation2d(IMAGE, variable(3, 9, 9)), "negative extent"),
    (lambda: relay.image.resize2d(IMAGE, (-1, 2)), "negative extent"),
    (lambda: relay.image.resize2d(variable(1, 3, 0, 4), (2, 2)), "no pixels"),
    (lambda: relay.random.threefry_generate(KEY, (-4,)).astuple(), "negative extent"),
    (lambda: relay.random.multinomial(KEY, relay.const(np.ones(2, "float32")), -5).astuple(), "negative extent"),
    (lambda: relay.random.multinomial(KEY, variable(0), 5).astuple(), "nothing to draw"),
    (lambda: relay.qnn.abs(WORDS, relay.const(0.5), relay.const(0), relay.const(0.5), relay.const(0)), "uint64"),
    (lambda: relay.qnn.simulated_quantize(IMAGE, 0.5, 0, out_dtype="foo"), "nothing is quantised to 'foo'"),
    (lambda: relay.random.threefry_key(1.5), "the seed is an integer, got float"),
    (lambda: relay.add(relay.var("bytes", shape=(2,), dtype="uint8"), -5), "no tensor of uint8 can hold this"),
]


def module_of(body: Any) -> IRModule:
    return IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))


@pytest.mark.parametrize(("call", "says"), REFUSED)
def test_refused(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(DiagnosticError, match=says):
        relay.transform.InferType()(module_of(call()))


OPEN = relay.var("rows", shape=(1, 4, relay.Any()))
OPEN_SCORES = relay.var("scores", shape=(1, relay.Any(), 2, 2))
ONE_ANCHOR = {"scales": (8,), "ratios": (1,)}
TOO_NARROW = {
    "corners": (suppressed(rows=OPEN, return_indices=False), (1, 4, 5)),
    "score": (relay.vision.get_valid_counts(OPEN, 0.5, 0, 1).astuple(), (1, 4, 1)),
    "anchors": (relay.vision.proposal(OPEN_SCORES, variable(1, 4, 2, 2), variable(1, 3), **ONE_ANCHOR), (1, 1, 2, 2)),
}
"""Places beside the rows, one channel instead of two."""


@pytest.mark.parametrize("name", TOO_NARROW)
def test_rows_whose_width_is_not_known_before_they_come(name: str) -> None:
    """Kernels read in the next row."""
    body, shape = TOO_NARROW[name]
    module = module_of(body)
    others = (p.type_annotation for p in module["main"].params[1:])
    rest = [np.zeros([int(d) for d in t.shape], str(t.dtype)) for t in others]
    with pytest.raises(DiagnosticError, match="sizes_of_vision"):
        relay.create_executor("vm", module).evaluate()(np.zeros(shape, "float32"), *rest)


@pytest.mark.parametrize("size", [True, (True,), 1.5, "ab"])
def test_sizes_that_are_no_integers_are_refused_when_the_call_is_made(size: Any) -> None:
    with pytest.raises(DiagnosticError, match=r"image\.resize1d"):
        relay.image.resize1d(variable(1, 3, 4), size)


def test_parameters_that_are_missing_are_named() -> None:
    with pytest.raises(TypeError, match="input_scale"):
        relay.qnn.leaky_relu(WORDS, 0.1)
    with pytest.raises(TypeError, match="output_zero_point"):
        relay.qnn.simulated_quantize(IMAGE, 0.5)


CORNERS = [
    (relay.vision.multibox_prior(relay.var("x", shape=(1, 3, 0, 4))), [np.zeros((1, 3, 0, 4), "float32")]),
    (
        relay.image.grid_sample(IMAGE, relay.var("grid", shape=(1, 2, 3, 3))),
        [np.ones((1, 3, 4, 4), "float32"), np.full((1, 2, 3, 3), np.nan, "float32")],
    ),
    (
        suppressed(),
        [np.random.default_rng(0).random((1, 4, 6), "float32"), np.int32([-3]), np.arange(4, dtype="int32")[None]],
    ),
]
"""No pixels, no place, fewer boxes than none."""


@pytest.mark.parametrize(("body", "arrays"), CORNERS)
def test_machines_agree_in_corners(body: Any, arrays: list[Any]) -> None:
    one, other = (relay.create_executor(kind, module_of(body)).evaluate()(*arrays) for kind in ("debug", "vm"))
    pairs = zip(one, other) if isinstance(one, (list, tuple)) else [(one, other)]
    for left, right in pairs:
        np.testing.assert_array_equal(left.numpy(), right.numpy())


UNTYPED = relay.var("weight")
FITS_NO_WEIGHT: dict[str, Callable[[], Any]] = {
    "nn.bias_add: axis 9": lambda: relay.nn.bias_add(variable(2, 3), UNTYPED, axis=9),
    "nn.prelu: axis 9": lambda: relay.nn.prelu(variable(2, 3), UNTYPED, axis=9),
    "nn.batch_norm: axis 9": lambda: relay.nn.batch_norm(variable(2, 3), *[UNTYPED] * 4, axis=9)[0],
    "nn.layer_norm: ax": lambda: relay.nn.layer_norm(variable(2, 3), UNTYPED, UNTYPED, axis=9),
    "nn.dense: takes data of rank 1": lambda: relay.nn.dense(variable(), UNTYPED, units=3),
    "nn.matmul: takes data of rank 1": lambda: relay.nn.matmul(variable(), UNTYPED, units=3),
}


@pytest.mark.rule("RELAY-REL-4", rejects=True)
@pytest.mark.parametrize("says", FITS_NO_WEIGHT)
def test_data_that_no_weight_fits(says: str) -> None:
    """The call is wrong before the weights have types; it waited for them."""
    with pytest.raises(DiagnosticError, match=says):
        relay.transform.InferType()(module_of(FITS_NO_WEIGHT[says]()))


def test_an_entry_that_leaves_types_open_names_the_call() -> None:
    module = module_of(relay.nn.conv2d(IMAGE, UNTYPED, channels=4))
    with pytest.raises(DiagnosticError, match=r"nn\.conv2d needs the types of all its operands, or attributes"):
        relay.build(module, "llvm")


def test_places_of_strided_set_are_known() -> None:
    with pytest.raises(DiagnosticError, match="strided_set: begin, end and strides are numbers or constants"):
        relay.strided_set(variable(4, 6), variable(2, 6), relay.var("begin", shape=(2,), dtype="int32"), [4, 6])
