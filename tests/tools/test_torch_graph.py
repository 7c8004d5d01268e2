"""PyTorch's translation of ONNX: each operator means what ONNX's reference evaluator says, shapes are no tensors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from baton._src.support.diagnostics import DiagnosticError
from bench.models.zoo import ZOO, example_inputs

torch = pytest.importorskip("torch")
module = pytest.importorskip("baton._src.tools.benchmark.torch_graph.module")

RNG = np.random.default_rng(7)


class Constant(NamedTuple):
    """An input whose contents the model holds."""

    array: np.ndarray


class Case(NamedTuple):
    """A node: arrays are inputs of the run, None is an input left out."""

    kind: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any]
    outputs: int
    opset: int

    def __str__(self) -> str:
        return "-".join([self.kind, *map(str, self.attributes)])


def case(kind: str, *inputs: Any, outputs: int = 1, opset: int = 18, **attributes: Any) -> Case:
    return Case(kind, inputs, attributes, outputs, opset)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def positive(*shape: int) -> np.ndarray:
    return RNG.uniform(0.1, 3.0, shape).astype(np.float32)


def integers(*values: Any) -> Constant:
    """A constant vector; one number in a list is a vector, too."""
    return Constant(np.array(values, np.int64))


def number(value: Any, dtype: Any = np.float32) -> Constant:
    return Constant(np.array(value, dtype))


X, IMAGE = floats(2, 3, 4), floats(1, 4, 9, 8)
FLAGS = RNG.integers(0, 2, (2, 3)).astype(bool)
SIGNED = np.array([-7, -6, 5, 7, 0], np.int64)

UNARY = "Abs Ceil Cos Cosh Erf Exp Floor Identity IsNaN Neg Reciprocal Relu Round Sigmoid Sign Sin Sinh Softplus"
UNARY += " Softsign Tan Tanh Atan HardSwish Mish"
COMPARED = "Equal Less LessOrEqual Greater GreaterOrEqual"
ARITHMETIC = "Add Sub Mul Div Max Min"
REDUCED = "ReduceMean ReduceSum ReduceMax ReduceMin"

ELEMENTWISE = [
    *(case(kind, X) for kind in UNARY.split()),
    *(case(kind, positive(3)) for kind in ("Log", "Sqrt")),
    *(case(kind, np.tanh(X)) for kind in ("Acos", "Asin")),
    *(case(kind, X, floats(3, 1)) for kind in ARITHMETIC.split()),
    *(case(kind, X, number(0.5)) for kind in ARITHMETIC.split()),
    *(case(kind, number(0.5), X) for kind in ARITHMETIC.split()),
    *(case(kind, SIGNED, np.array([2, -4, 3, -2, 9])) for kind in f"{ARITHMETIC} {COMPARED}".split()),
    *(case(kind, X, number(0.0)) for kind in COMPARED.split()),
    *(case(kind, FLAGS, ~FLAGS[:1]) for kind in ("And", "Or", "Xor")),
    case("Not", FLAGS), case("Where", FLAGS, floats(2, 3), number(-1.0)),
    case("Mod", SIGNED, number(3, np.int64)), case("Mod", X, floats(3, 4), fmod=1),
    case("Pow", positive(3), number(2.0)), case("Pow", SIGNED, number(2.0)), case("Pow", positive(3), floats(3)),
    case("Sum", X, X, X), case("Mean", X, floats(4), X), case("Max", X, floats(4), X), case("Min", X),
    case("Clip", X, number(-0.5), number(0.5)), case("Clip", X, None, number(0.5)), case("Clip", X),
    case("Clip", X, np.float32(-0.1), np.float32(0.1)), case("Clip", X, min=-0.5, opset=6),
    case("Cast", X, to=onnx.TensorProto.INT32), case("Cast", SIGNED, to=onnx.TensorProto.BOOL),
    case("LeakyRelu", X), case("LeakyRelu", X, alpha=0.3), case("Elu", X, alpha=0.5), case("HardSigmoid", X, alpha=0.3),
    case("Gelu", X, opset=20), case("Gelu", X, approximate="tanh", opset=20), case("PRelu", X, Constant(floats(3, 1))),
]  # fmt: skip

MOVING = [
    case("Shape", X), case("Shape", X, start=1, end=-1),
    case("Constant", value=numpy_helper.from_array(floats(2, 2))), case("Constant", value_ints=[3, 4]),
    case("ConstantOfShape", integers(2, 3)),
    case("ConstantOfShape", integers(2), value=numpy_helper.from_array(np.array([7], np.int32))),
    case("Range", number(2, np.int64), number(9, np.int64), number(3, np.int64)),
    case("Range", number(1.0), number(2.0), number(0.25)),
    case("Gather", X, number(1, np.int64), axis=1), case("Gather", X, np.array([[0, -1], [2, 1]]), axis=1),
    case("Gather", X, np.array([0, -1]), axis=-1), case("Gather", X, np.array(-1), axis=2),
    case("GatherND", X, np.array([[0, 1], [1, 2]])),
    case("GatherElements", X, RNG.integers(0, 4, (2, 3, 2)), axis=2),
    case("ScatterND", X, np.array([[0, 1], [1, 2]]), floats(2, 4)),
    case("ScatterND", X, np.array([[0, 1], [0, 1]]), floats(2, 4), reduction="add"),
    case("ScatterElements", X, np.array([[[0, 2]]]), floats(1, 1, 2), axis=2),
    case("Slice", X, integers(0, 1), integers(1, 3), integers(0, 2)),
    case("Slice", X, integers(1), integers(2**63 - 1), integers(-1), integers(2)),
    case("Slice", X, integers(-1), integers(-(2**63)), integers(1), integers(-1)),
    case("Split", X, axis=2, num_outputs=2, outputs=2), case("Split", X, integers(1, 3), axis=2, outputs=2),
    case("Concat", X, floats(2, 1, 4), axis=-2),
    case("Reshape", X, integers(0, -1)), case("Reshape", floats(0, 3), integers(3, 0), allowzero=1),
    *(case("Flatten", X, axis=axis) for axis in (0, 1, 2, 3, -1)), case("Flatten", floats(3)),
    case("Transpose", X), case("Transpose", X, perm=[1, 2, 0]),
    case("Squeeze", floats(1, 3, 1)), case("Squeeze", floats(1, 3, 1), integers(-1)),
    case("Unsqueeze", X, integers(0, -1)), case("Unsqueeze", X, axes=[1, 4], opset=11),
    case("Expand", floats(3, 1), integers(2, 1, 4)), case("Expand", X, integers(1)),
    case("Tile", X, integers(2, 1, 3)),
    case("Pad", X, integers(0, 1, 0, 2, 0, 3)), case("Pad", X, integers(0, 0, 1, 0, 0, 0), number(1.5)),
    case("Trilu", floats(4, 5)), case("Trilu", floats(4, 5), number(-1, np.int64), upper=0),
]  # fmt: skip

LAYERS = [
    case("MatMul", X, floats(4, 5)), case("MatMul", X, floats(2, 4, 5)), case("Einsum", X, X, equation="bij,bkj->bik"),
    case("Gemm", floats(3, 4), floats(4, 5), floats(5)), case("Gemm", floats(3, 4), floats(5, 4), transB=1),
    case("Gemm", floats(4, 3), floats(4, 5), floats(3, 1), transA=1, alpha=0.5, beta=2.0),
    case("Gemm", floats(3, 4), floats(4, 5), floats(1), alpha=0.5),
    case("Conv", floats(1, 4, 9), floats(6, 2, 3), floats(6), group=2, pads=[1, 2], strides=[2]),
    case("Conv", IMAGE, floats(6, 4, 3, 3), pads=[1, 1, 1, 1], dilations=[2, 1]),
    case("MaxPool", IMAGE, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 0, 1]),
    case("MaxPool", IMAGE, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    case("AveragePool", IMAGE, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    case("AveragePool", IMAGE, kernel_shape=[3, 3], pads=[1, 0, 0, 1], count_include_pad=1),
    case("GlobalAveragePool", IMAGE), case("GlobalMaxPool", IMAGE),
    case("BatchNormalization", IMAGE, floats(4), floats(4), floats(4), positive(4), epsilon=1e-3),
    case("LayerNormalization", X, floats(4), floats(4)), case("LayerNormalization", X, floats(3, 4), axis=1),
    *(case(kind, X, axis=1) for kind in ("Softmax", "LogSoftmax")), case("Softmax", floats(3, 4), opset=11),
    *(case(kind, X, axes=[-1], keepdims=0, opset=11) for kind in REDUCED.split()),
    *(case(kind, X, integers(0, 2)) for kind in REDUCED.split()), *(case(kind, X) for kind in REDUCED.split()),
    case("ReduceSum", X, noop_with_empty_axes=1),
    *(case(kind, X, axis=1, keepdims=0) for kind in ("ArgMax", "ArgMin")),
]  # fmt: skip

STEPS, BATCH, SIZE, HIDDEN = 5, 2, 3, 4


def lstm(directions: int, *rest: Any, **attributes: Any) -> Case:
    w, r = floats(directions, 4 * HIDDEN, SIZE), Constant(floats(directions, 4 * HIDDEN, HIDDEN))
    return case("LSTM", floats(STEPS, BATCH, SIZE), w, r, *rest, outputs=3, hidden_size=HIDDEN, **attributes)


RECURRENT = [
    lstm(1),
    lstm(1, Constant(floats(1, 8 * HIDDEN)), None, floats(1, BATCH, HIDDEN), floats(1, BATCH, HIDDEN)),
    lstm(1, floats(1, 8 * HIDDEN), direction="reverse"),
    lstm(2, floats(2, 8 * HIDDEN), direction="bidirectional"),
]
CASES = [*ELEMENTWISE, *MOVING, *LAYERS, *RECURRENT]


def model_of(made: Case) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """The model with this one node, and its inputs."""
    names = ["" if given is None else f"x{i}" for i, given in enumerate(made.inputs)]
    outputs = [f"y{i}" for i in range(made.outputs)]
    node = helper.make_node(made.kind, names, outputs, **made.attributes)
    feed = {n: np.asarray(a) for n, a in zip(names, made.inputs, strict=True) if isinstance(a, np.ndarray | np.generic)}
    weights = [
        numpy_helper.from_array(a.array, n) for n, a in zip(names, made.inputs, strict=True) if isinstance(a, Constant)
    ]
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feed.items()
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([node], made.kind, inputs, results, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", made.opset)], ir_version=9), feed


def run(model: onnx.ModelProto, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What PyTorch makes of the model."""
    given = [torch.from_numpy(feed[name]) for name in module.model_inputs(model)]
    return [output.numpy() for output in module.torch_module(model)(*given)]


def reference(model: onnx.ModelProto, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What the model says."""
    found = ReferenceEvaluator(model).run(None, feed)
    assert isinstance(found, list)
    return found


def same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("made", CASES, ids=str)
def test_operator(made: Case) -> None:
    """Guards every rule: values, shapes and types are those of the reference evaluator."""
    model, feed = model_of(made)
    same(run(model, feed), reference(model, feed))


def test_every_operator_is_tested() -> None:
    """Guards that no rule is without a case; loops are tested below."""
    assert module.RULES.keys() - {made.kind for made in CASES} == {"Loop", "Scan"}


SIZES = """
<ir_version: 8, opset_import: ["" : 17]>
sizes (float[n, m, 4] x) => (float[a] counted, float[b, c] flat, float[d, e] wide, int64[f] told, float[g, h] zeros)
<int64 zero = {0}, int64 two = {2}, int64[1] first = {0}, int64[1] one = {1}, int64[1] end = {3}, int64[1] minus = {-1}>
{
    shape = Shape(x)
    n1 = Gather(shape, first)
    n = Gather(shape, zero)
    n_again = Squeeze(n1, first)
    rest = Slice(shape, one, end, first)
    m1 = Slice(shape, one, minus)
    columns = ReduceProd<keepdims = 1>(rest)
    flat_shape = Concat<axis = 0>(n1, columns)
    flat = Reshape(x, flat_shape)
    sum = Add(n, n_again)
    less = Sub(two, sum)
    half = Div(less, two)
    smaller = Min(half, zero)
    larger = Max(n, two)
    steps = Mul(larger, two)
    narrow = Cast<to = 6>(steps)
    wide_again = Cast<to = 7>(narrow)
    told = Range(smaller, wide_again, two)
    turned = Cast<to = 1>(told)
    counted = Mul(turned, turned)
    flat_row = Slice(flat, first, one)
    n_vector = Unsqueeze(n, first)
    doubled = Add(n_vector, one)
    target = Concat<axis = 0>(doubled, columns)
    wide = Expand(flat_row, target)
    zeros_shape = Concat<axis = 0>(m1, end)
    zeros = ConstantOfShape(zeros_shape)
}
"""


@pytest.mark.parametrize(("n", "m"), [(2, 3), (5, 1), (1, 2)])
def test_sizes(n: int, m: int) -> None:
    """Guards that one module serves all sizes, and that what it computes of them are numbers, not tensors."""
    model = onnx.parser.parse_model(SIZES)
    feed = {"x": floats(n, m, 4)}
    same(run(model, feed), reference(model, feed))
    assert "torch.tensor" not in module.torch_module(model).code


LOOP = """
<ir_version: 8, opset_import: ["" : 17]>
loop (float[n, 3] x, float[3] bias) => (float[3] last, float[t, 3] all)
<int64[1] first = {0}, float[3] zeros = {0.0, 0.0, 0.0}, bool always = {1}>
{
    shape = Shape(x)
    n1 = Gather(shape, first)
    n = Squeeze(n1)
    offset = Mul(bias, bias)
    last, all = Loop<body = step (int64 i, bool go, float[3] state) => (bool goes_on, float[3] next, float[3] each) {
        row = Gather(x, i)
        sum = Add(row, offset)
        next = Sub(sum, state)
        each = Mul(next, next)
        goes_on = Identity(go)
    }>(n, always, zeros)
}
"""

SCAN = """
<ir_version: 8, opset_import: ["" : 17]>
scan (float[n, 3] x, float[n, 3] y, float[3] start) => (float[3] last, float[n, 3] all)
{
    last, all = Scan<num_scan_inputs = 2, body = step (float[3] state, float[3] a, float[3] b)
        => (float[3] next, float[3] each) {
        product = Mul(a, b)
        next = Add(product, state)
        each = Add(next, start)
    }>(start, x, y)
}
"""


@pytest.mark.parametrize("text", [LOOP, SCAN], ids=["Loop", "Scan"])
@pytest.mark.parametrize("n", [1, 4])
def test_loops(text: str, n: int) -> None:
    """Guards the turns of loops: what is carried, what is stacked, and what the body takes from around it."""
    model = onnx.parser.parse_model(text)
    sizes = {"n": n}
    feed = {
        value.name: floats(*(sizes.get(d.dim_param, d.dim_value) for d in value.type.tensor_type.shape.dim))
        for value in model.graph.input
    }
    same(run(model, feed), reference(model, feed))


@pytest.mark.parametrize("name", ZOO)
def test_one_graph(name: str) -> None:
    """Guards that torch.compile takes each model of the benchmark whole, and models with open sizes once for all."""
    model = ZOO[name].small_model()
    compiled = torch.compile(module.torch_module(model), backend="eager", fullgraph=True)
    feeds = [example_inputs(model, ZOO[name].dims)]
    if any(module.open_axes(model)):
        feeds.append(example_inputs(model, {dim: size + 3 for dim, size in ZOO[name].dims.items()}))
    expected = [run(model, feed) for feed in feeds]
    for number, feed in enumerate(feeds):
        given = [torch.from_numpy(array) for array in feed.values()]
        for tensor, axes in zip(given, module.open_axes(model), strict=True):
            torch._dynamo.maybe_mark_dynamic(tensor, axes)
        with torch.inference_mode(), torch._dynamo.config.patch(error_on_recompile=True):
            same([output.numpy() for output in compiled(*given)], expected[number])


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (case("Reshape", X, np.array([4, 6])), "Reshape with an input 'x1' that is computed at run time"),
        (case("Conv", IMAGE, floats(6, 4, 3, 3), auto_pad="SAME_UPPER"), "auto_pad"),
        (case("Slice", X, integers(1), integers(-9), integers(1), integers(-1)), "backwards"),
        (case("Softmax", X, opset=11), "before opset 13"),
        (case("MaxPool", IMAGE, kernel_shape=[2, 2], outputs=2), "without its outputs after the first 1"),
        (lstm(1, clip=1.0), "LSTM with clip"),
        (case("NoSuch", X), "NoSuch is not covered"),
    ],
    ids=str,
)
def test_refused(made: Case, why: str) -> None:
    """Guards that a form of an operator that is not covered is named, not computed wrongly."""
    with pytest.raises(DiagnosticError, match=why):
        module.torch_module(model_of(made)[0])
