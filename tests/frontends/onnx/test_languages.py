"""One table of converters, two languages: Relay and Relax give the same numbers; functions of a model are inlined."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import baton
from baton import relay
from tests.frontends.onnx.against_onnxruntime import assert_as_onnxruntime, in_both_languages, onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight
from tests.frontends.onnx.node_cases import as_array, assert_outputs, cases_of

SAMPLE = {
    "conv": "conv_with_strides_padding", "gemm": "gemm_all_attributes", "softmax": "softmax_axis_1",
    "matmul": "matmul_3d", "averagepool": "averagepool_2d_pads_count_include_pad", "gather": "gather_negative_indices",
    "layernormalization": "layer_normalization_3d_axis1_epsilon", "transpose": "transpose_all_permutations_1",
    "where": "where_example", "batch_normalization": "batchnorm_epsilon",
    "depthtospace": "depthtospace_crd_mode_example",
    "gathernd": "gathernd_example_int32_batch_dim1",
    "scatternd": "scatternd_max",
    "trilu": "tril",
    "nonzero": "nonzero_example",
    "argmax": "argmax_no_keepdims_random", "elu": "elu", "gelu": "gelu_tanh_2",
}  # fmt: skip


@pytest.mark.parametrize(("module", "name"), SAMPLE.items())
def test_both_languages_give_the_same(module: str, name: str) -> None:
    case = next(c for n, c in cases_of(module).items() if n == f"test_{name}")
    through_relay, params = relay.frontend.from_onnx(case.model)
    for program in (baton.compile(case.model), baton.compile(through_relay, params=params)):
        for inputs, outputs in case.data_sets:
            assert_outputs(case, program(*map(as_array, inputs)), outputs)


def test_functions_of_a_model_with_attributes_and_their_defaults() -> None:
    """A model-local function refers to its caller's attributes; one not given takes its default."""
    body = helper.make_node("LeakyRelu", ["a"], ["b"])
    body.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    function = helper.make_function(
        "acme", "Bend", ["a"], ["b"], [body], [helper.make_opsetid("", 21)],
        attribute_protos=[helper.make_attribute("slope", 0.5)],
    )  # fmt: skip
    nodes = [
        helper.make_node("Bend", ["x"], ["t"], domain="acme", slope=0.25),
        helper.make_node("Bend", ["t"], ["y"], domain="acme"),
    ]
    model = model_of(nodes, [("x", ["n"])])
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("acme", 1))
    found = baton.compile(model).run({"x": np.float32([-8, 8])})[0]
    np.testing.assert_allclose(found, [-1, 8])


def _resize(mode: str, **attributes: Any) -> onnx.ModelProto:
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode=mode, **attributes)
    return model_of([node], [("x", ["n", 2, "h", "w"])], weights=[weight("scales", np.array([1, 1, 2, 3], np.float32))])


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_of_images_of_any_size(mode: str) -> None:
    """Whole scales need no sizes when compiling: one program, all images. Relay's operator takes numbers only."""
    model = _resize(mode)
    program, through_relay = baton.compile(model), baton.compile(relay.frontend.from_onnx(model)[0])
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for shape in ((1, 2, 4, 5), (2, 2, 7, 3)):
        x = np.random.default_rng(0).random(shape, np.float32)
        (wanted,) = session.run(None, {"x": x})
        for found in (program.run({"x": x}), through_relay.run({"x": x})):
            np.testing.assert_allclose(found[0], wanted, rtol=1e-4, atol=1e-5)


def test_a_loop_whose_length_is_known_at_run_time() -> None:
    """x, x*2, x*4, ... while below 100, at most `m` times."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["v", "v"], ["w"]),
            helper.make_node("ReduceMax", ["w"], ["top"], keepdims=0),
            helper.make_node("Less", ["top", "hundred"], ["go"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, [2]),
        ],
        [helper.make_empty_tensor_value_info("go"), helper.make_empty_tensor_value_info("w")],
        [weight("hundred", np.float32(100))],
    )
    node = helper.make_node("Loop", ["m", "", "x"], ["y"], body=body)
    program = baton.compile(model_of([node], [("m", ([], TensorProto.INT64)), ("x", [2])]))
    for trips, wanted in ((0, [1, 3]), (2, [4, 12]), (50, [64, 192])):
        found = program.run({"m": np.int64(trips), "x": np.float32([1, 3])})[0]
        np.testing.assert_array_equal(found, wanted)


def test_non_maximum_suppression_of_many_boxes() -> None:
    """Against onnxruntime: images, classes and overlaps enough for every branch."""
    ort = pytest.importorskip("onnxruntime")
    random = np.random.default_rng(3)
    corner = random.random((2, 60, 2), np.float32)
    boxes = np.concatenate([corner, corner + random.random((2, 60, 2), np.float32) * 0.4], axis=2)
    scores = random.random((2, 3, 60), np.float32)
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "iou", "least"], ["y"])
    weights = [weight("most", np.int64([9])), weight("iou", np.float32([0.3])), weight("least", np.float32([0.2]))]
    model = model_of([node], [("boxes", boxes.shape), ("scores", scores.shape)], weights=weights)
    feed = {"boxes": boxes, "scores": scores}
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(baton.compile(model).run(feed)[0], session.run(None, feed)[0])


@pytest.mark.parametrize("centred", [0, 1])
def test_non_maximum_suppression_of_equal_boxes_and_scores(centred: int) -> None:
    """Against onnxruntime: ties, corners the other way around, boxes without area, scores that are minus infinity; no
    score threshold, as only then these are chosen."""
    ort = pytest.importorskip("onnxruntime")
    random = np.random.default_rng(4)
    boxes = random.integers(0, 5, (2, 40, 4)).astype("float32")
    scores = random.choice(np.float32([0.25, 0.5, -1, -np.inf]), (2, 3, 40))
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "iou"], ["y"], center_point_box=centred)
    weights = [weight("most", np.int64([30])), weight("iou", np.float32([0.4]))]
    model = model_of([node], [("boxes", boxes.shape), ("scores", scores.shape)], weights=weights)
    feed = {"boxes": boxes, "scores": scores}
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(baton.compile(model).run(feed)[0], session.run(None, feed)[0])


def test_open_sizes_in_relay() -> None:
    """Guards models with open sizes through Relay: shapes computed from them are read from the inputs at run time."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Mul", ["shape", "factors"], ["scaled"]),
        helper.make_node("Add", ["scaled", "rest"], ["target"]),
        helper.make_node("Reshape", ["x", "target"], ["flat"]),
        helper.make_node("Expand", ["one", "target"], ["ones"]),
        helper.make_node("Add", ["flat", "ones"], ["y"]),
    ]
    weights = [weight("one", np.ones((1, 1, 1), "float32")), weight("factors", [1, 2, 0]), weight("rest", [0, 0, 4])]
    model = model_of(nodes, [("x", ["n", "t", 8])], weights=weights)
    module, _ = relay.frontend.from_onnx(model)
    run = relay.create_executor("vm", mod=module).evaluate()
    for n, t in ((2, 3), (4, 1)):
        x = np.arange(n * t * 8, dtype="float32").reshape(n, t, 8)
        np.testing.assert_array_equal(run(x).numpy(), x.reshape(n, 2 * t, 4) + 1)


def test_rows_of_halved_symbolic_images() -> None:
    """A normalisation behind a strided convolution: the sizes of its rows are expressions of the input's."""
    draw = np.random.default_rng(0)
    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["c"], strides=[2, 2]),
        helper.make_node("Transpose", ["c"], ["t"], perm=[0, 2, 3, 1]),
        helper.make_node("LayerNormalization", ["t", "gamma"], ["y"]),
    ]
    kernel = draw.standard_normal((16, 3, 2, 2)).astype("float32")
    weights = [weight("kernel", kernel), weight("gamma", np.ones(16, "float32"))]
    model = baton.compile(model_of(nodes, [("x", ["n", 3, "h", "w"])], weights=weights))
    for shape in ((1, 3, 4, 4), (2, 3, 6, 8)):
        x = draw.standard_normal(shape).astype("float32")
        patches = x.reshape(shape[0], 3, shape[2] // 2, 2, shape[3] // 2, 2).transpose(0, 2, 4, 1, 3, 5)
        plain = patches.reshape(*patches.shape[:3], 12) @ kernel.reshape(16, 12).T
        centred = plain - plain.mean(-1, keepdims=True)
        expected = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(model.run({"x": x})[0], expected, rtol=1e-4, atol=1e-5)


def test_a_window_far_larger_than_the_image() -> None:
    """As exporters of EfficientNet write their last pool; it is as quick as the image is small."""
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[640, 640], strides=[640, 640], ceil_mode=1)
    x = np.arange(24, dtype="float32").reshape(1, 2, 3, 4)
    program = relay.frontend.from_onnx(model_of([node], [("x", x.shape)], opset=19))[0]
    assert "pool_size=[3, 4]" in str(program)
    found = baton.compile(program)(x)[0]
    np.testing.assert_allclose(found, x.mean((2, 3), keepdims=True))


def test_a_range_up_to_an_open_size() -> None:
    """Relay's `arange` takes tensors where Relax has sizes."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], start=0, end=1),
        helper.make_node("Squeeze", ["s"], ["n"]),
        helper.make_node("Range", ["zero", "n", "one"], ["y"]),
    ]
    bounds = [weight("zero", np.array(0)), weight("one", np.array(1))]
    model = model_of(nodes, [("x", ["n"])], weights=bounds)
    for program in (baton.compile(model), baton.compile(relay.frontend.from_onnx(model)[0])):
        for n in (1, 4):
            np.testing.assert_array_equal(program(np.zeros(n, "float32"))[0], np.arange(n))


def _arm(op: str, operands: list[str], **attributes: Any) -> Any:
    node = helper.make_node(op, operands, ["out"], **attributes)
    return helper.make_graph([node], op, [], [helper.make_empty_tensor_value_info("out")])


@pytest.mark.parametrize("other", [_arm("Neg", ["x"]), _arm("Concat", ["x", "x"], axis=0)])
def test_a_conditional(other: Any) -> None:
    """The two ways may give different sizes where sizes are open."""
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
        helper.make_node("Greater", ["total", "zero"], ["positive"]),
        helper.make_node("If", ["positive"], ["y"], then_branch=_arm("Add", ["x", "x"]), else_branch=other),
    ]
    model = model_of(nodes, [("x", ["n", 4])], weights=[weight("zero", np.array(0, "float32"))], opset=17)
    for sign in (1, -1):
        feed = {"x": sign * np.arange(12, dtype="float32").reshape(3, 4)}
        expected = onnxruntime_outputs(model, feed)
        for _, found in in_both_languages(model, feed):
            assert_as_onnxruntime(found, expected)


def test_a_table_cut_to_the_length_of_the_text() -> None:
    """PyTorch's positions: Relay computes the corner from the size of the input."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["length"]),
        helper.make_node("Slice", ["table", "zero", "length", "zero"], ["front"]),
        helper.make_node("Add", ["x", "front"], ["sum"]),
        helper.make_node("Pad", ["sum", "widths"], ["y"]),
    ]
    table = weight("table", np.arange(36, dtype="float32").reshape(9, 4))
    weights = [weight("zero", np.array([0])), weight("widths", np.array([1, 0, 0, 2])), table]
    model = model_of(nodes, [("x", ["n", 4])], weights=weights, opset=17)
    module, _ = relay.frontend.from_onnx(model)
    program = baton.compile(module, num_threads=1)
    for length in (3, 5):
        feed = {"x": np.ones((length, 4), "float32")}
        assert_as_onnxruntime([np.asarray(o) for o in program.run(feed)], onnxruntime_outputs(model, feed))


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16"])
def test_a_range_whose_ends_a_run_tells_in_relay(dtype: str) -> None:
    """It was refused, though Relay's operator takes tensors."""
    names = ("start", "limit", "delta")
    node = helper.make_node("Range", names, ["y"])
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    module, _ = relay.frontend.from_onnx(model_of([node], [(n, ((), kind)) for n in names], opset=27))
    run = relay.create_executor("vm", mod=module).evaluate()
    for ends in ((1, 10, 3), (10, 1, -4), (1, -2, 3)):
        found = run(*(np.array(e, dtype) for e in ends)).numpy()
        np.testing.assert_array_equal(found, np.arange(*ends).astype(dtype))
    with pytest.raises(baton.DiagnosticError, match="there is no end"):
        run(*(np.array(e, dtype) for e in (1, 2, 0)))


@pytest.mark.parametrize("order", [0, 1])
def test_distinct_elements_in_relay(order: int) -> None:
    """Its operator pads what it gives; the import was refused."""
    outputs = ["y", "first", "places", "counts"]
    x = np.array([[3, 1, 3], [4, 1, 1]], "float32")
    model = model_of([helper.make_node("Unique", ["x"], outputs, sorted=order)], [("x", [2, "n"])], outputs)
    module, _ = relay.frontend.from_onnx(model)
    run = relay.create_executor("vm", mod=module).evaluate()
    for part in (x, x[:, :1]):
        for found, wanted in zip(run(part), onnxruntime_outputs(model, {"x": part}), strict=True):
            np.testing.assert_array_equal(found.numpy(), wanted)


def test_parts_that_do_not_add_up_fail_in_relay_too() -> None:
    """Of an axis whose size a run tells: the last part took what was left."""
    node = helper.make_node("Split", ["x", "sizes"], ["a", "b"], name="/split", axis=0)
    model = model_of([node], [("x", ["n", 2])], ["a", "b"], [weight("sizes", np.array([2, 3]))])
    module, _ = relay.frontend.from_onnx(model)
    run = relay.create_executor("vm", mod=module).evaluate()
    x = np.arange(14, dtype="float32").reshape(7, 2)
    for found, wanted in zip(run(x[:5]), (x[:2], x[2:5]), strict=True):
        np.testing.assert_array_equal(found.numpy(), wanted)
    with pytest.raises(baton.DiagnosticError, match=r"node '/split': axis 0 of an operand must be of size 5"):
        run(x)


def test_labels_of_other_scores_fail_in_relay_too() -> None:
    node = helper.make_node("NegativeLogLikelihoodLoss", ["x", "labels"], ["y"], name="/loss")
    model = model_of([node], [("x", ["n", 5]), ("labels", (["m"], TensorProto.INT64))])
    module, _ = relay.frontend.from_onnx(model)
    run = relay.create_executor("vm", mod=module).evaluate()
    x, labels = np.arange(15, dtype="float32").reshape(3, 5), np.array([1, 0, 4])
    np.testing.assert_allclose(run(x, labels).numpy(), -np.mean([1, 5, 14]))
    with pytest.raises(baton.DiagnosticError, match=r"node '/loss': axis 0 of an operand must be of size n"):
        run(x, labels[:2])


WHOLE = TensorProto.INT64
AT_RUN_TIME: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("Slice", {"x": (["n"], 1), "start": ([1], WHOLE), "end": ([1], WHOLE)}, [np.ones(5, "f"), [-3], [4]]),
    ("Pad", {"x": (["n", 2], 1), "pads": ([4], WHOLE)}, [np.ones((3, 2), "f"), [1, 0, -2, 3]]),
    ("Tile", {"x": (["n"], 1), "repeats": ([1], WHOLE)}, [np.arange(3, dtype="f"), [2]]),
    ("Expand", {"x": (["n"], 1), "shape": ([2], WHOLE)}, [np.arange(3, dtype="f"), [2, 1]]),
    ("ConstantOfShape", {"shape": ([2], WHOLE)}, [[2, 0]]),
    ("Split", {"x": (["n"], 1), "sizes": ([1], WHOLE)}, [np.arange(3, dtype="f"), [3]]),
    ("OneHot", {"x": (["n"], WHOLE), "depth": ([], WHOLE), "values": ([2], 1)}, [[1, -1], 3, np.array([0, 2], "f")]),
]


@pytest.mark.parametrize(("operator", "declared", "operands"), AT_RUN_TIME)
def test_numbers_of_a_run_in_relay(operator: str, declared: dict[str, Any], operands: list[Any]) -> None:
    """They were refused: its programs had no names for them."""
    model = model_of([helper.make_node(operator, list(declared), ["y"])], list(declared.items()))
    module, _ = relay.frontend.from_onnx(model)
    arrays = [np.asarray(o) for o in operands]
    found = relay.create_executor("vm", mod=module).evaluate()(*arrays)
    (wanted,) = onnxruntime_outputs(model, dict(zip(declared, arrays, strict=True)))
    np.testing.assert_array_equal(found.numpy(), wanted)


def test_slices_between_sizes_in_relay() -> None:
    """An end that may count from the front or the back depends on a comparison of sizes."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Sub", ["s", "four"], ["t"]),
        helper.make_node("Div", ["t", "two"], ["end"]),
        helper.make_node("Slice", ["x", "zero", "end"], ["y"]),
    ]
    weights = [weight(n, np.array([v])) for n, v in (("four", 4), ("two", 2), ("zero", 0))]
    model = model_of(nodes, [("x", ["n"])], weights=weights)
    run = relay.create_executor("vm", mod=relay.frontend.from_onnx(model)[0]).evaluate()
    for size in (1, 3, 4, 9):
        x = np.arange(size, dtype="float32")
        np.testing.assert_array_equal(run(x).numpy(), onnxruntime_outputs(model, {"x": x})[0])


@pytest.mark.parametrize("trips", [0, 3])
def test_a_loop_that_grows_in_relay(trips: int) -> None:
    nodes = [
        helper.make_node("Identity", ["c"], ["go"]),
        helper.make_node("Unsqueeze", ["i", "axis"], ["end"]),
        helper.make_node("Slice", ["v", "axis", "end"], ["part"]),
        helper.make_node("Concat", ["v", "part"], ["longer"], axis=0),
    ]
    inputs = [helper.make_tensor_value_info(n, k, s) for n, k, s in (("i", WHOLE, []), ("c", TensorProto.BOOL, []))]
    inputs.append(helper.make_tensor_value_info("v", 1, None))
    outputs = [helper.make_empty_tensor_value_info(n) for n in ("go", "longer")]
    body = helper.make_graph(nodes, "body", inputs, outputs, [weight("axis", np.array([0]))])
    node = helper.make_node("Loop", ["m", "", "x"], ["y"], body=body)
    model = model_of([node], [("m", ([], WHOLE)), ("x", ["n"])])
    run = relay.create_executor("vm", mod=relay.frontend.from_onnx(model)[0]).evaluate()
    x = np.arange(3, dtype="float32")
    (wanted,) = onnxruntime_outputs(model, {"m": np.array(trips), "x": x})
    np.testing.assert_array_equal(run(np.array(trips), x).numpy(), wanted)


def test_axes_of_a_transpose_may_count_from_the_end() -> None:
    """PyTorch's exporter writes those of `permute` as they stand, which TVM's importer takes, too."""
    model = model_of([helper.make_node("Transpose", ["x"], ["y"], perm=[0, -2, -1, 1])], [("x", (2, 3, 4, 5))])
    x = np.arange(120, dtype="float32").reshape(2, 3, 4, 5)
    for language, (found,) in in_both_languages(model, {"x": x}):
        np.testing.assert_array_equal(found, x.transpose(0, 2, 3, 1), err_msg=language)
