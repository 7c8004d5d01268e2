"""Rows of the rule table that belong to no single pass: scopes of graphs, and operators against NumPy in Relay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import relay
from baton._src.driver.relay.executors import create_executor
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.scopes import Scopes
from tests.relay.programs import error_of, read, read_module

RNG = np.random.default_rng(5)
A, B = RNG.uniform(0.2, 0.9, (2, 3)).astype("float32"), RNG.uniform(0.2, 0.9, (2, 3)).astype("float32")
MEANINGS = [
    # level 1
    ("log(%a)", np.log(A)), ("sqrt(%a)", np.sqrt(A)), ("exp(%a)", np.exp(A)), ("tanh(%a)", np.tanh(A)),
    ("sigmoid(%a)", 1 / (1 + np.exp(-A))), ("%a + %b", A + B), ("%a - %b", A - B), ("%a * %b", A * B),
    ("%a / %b", A / B), ("concatenate((%a, %b), axis=1)", np.concatenate([A, B], 1)),
    ("expand_dims(%a, axis=1)", A[:, None]), ("nn.relu(%a - %b)", np.maximum(A - B, 0)),
    ("nn.dense(%a, %b)", A @ B.T), ("nn.bias_add(%a, Constant(2, (3,), float32))", A + 2),
    ("nn.softmax(%a)", np.exp(A) / np.exp(A).sum(-1, keepdims=True)),
    # level 2
    ("nn.pad(%a, 0f, pad_width=[[1, 0], [0, 2]])", np.pad(A, ((1, 0), (0, 2)))),
    ("nn.batch_flatten(expand_dims(%a, axis=0))", A.reshape(1, 6)),
    # level 3
    ("reshape(%a, newshape=[3, 2])", A.reshape(3, 2)), ("transpose(%a)", A.T), ("floor(%a * 9f)", np.floor(A * 9)),
    ("clip(%a, a_min=0.3f, a_max=0.5f)", np.clip(A, 0.3, 0.5)), ("tile(%a, reps=[2, 1])", np.tile(A, (2, 1))),
    ("split(%a, indices_or_sections=2, axis=0).1", A[1:]), ("reverse(%a, axis=1)", A[:, ::-1]),
    ("cumsum(%a, axis=1)", A.cumsum(1)), ("stack((%a, %b), axis=0)", np.stack([A, B])),
    # level 4
    ("sum(%a, axis=[1])", A.sum(1)), ("max(%a, axis=[0])", A.max(0)), ("mean(%a)", A.mean()),
    ("where(less(%a, %b), %a, %b)", np.minimum(A, B)), ("maximum(%a, %b)", np.maximum(A, B)),
    ("strided_slice(%a, begin=[0, 1], end=[2, 3])", A[:, 1:]), ("argmax(%a, axis=[1])", A.argmax(1)),
    ("broadcast_to(%a, shape=[4, 2, 3])", np.broadcast_to(A, (4, 2, 3))), ("power(%a, %b)", A**B),
    # level 6, 10, 11
    ("sort(%a, axis=1)", np.sort(A, 1)), ("shape_of(%a)", np.array([2, 3])),
    ("nn.batch_matmul(expand_dims(%a, axis=0), expand_dims(%b, axis=0), transpose_b=True)", (A @ B.T)[None]),
    ('einsum((%a, %b), equation="ij,kj->ik")', A @ B.T),
]  # fmt: skip


def function(body: str) -> str:
    return f"fn(%a: Tensor[(2, 3), float32], %b: Tensor[(2, 3), float32]) {{ {body} }}"


@pytest.mark.rule("RELAY-OP-11")
@pytest.mark.parametrize(("body", "wanted"), MEANINGS, ids=[m[0] for m in MEANINGS])
def test_operators_mean_what_numpy_says(body: str, wanted: Any) -> None:
    found = Interpreter().evaluate(read(function(body)))(A, B)
    np.testing.assert_allclose(found.data, wanted, rtol=1e-5, atol=1e-6)
    assert found.data.shape == np.shape(wanted)


@pytest.mark.rule("RELAY-OP-11")
def test_compiled_operators_mean_the_same() -> None:
    bodies = ", ".join(body for body, _ in MEANINGS)
    module = read_module(f"def @main(%a: Tensor[(2, 3), float32], %b: Tensor[(2, 3), float32]) {{ ({bodies}) }}")
    found = create_executor("vm", module).evaluate()(A, B)
    for value, (body, wanted) in zip(found, MEANINGS, strict=True):
        np.testing.assert_allclose(value.numpy(), wanted, rtol=1e-4, atol=1e-5, err_msg=body)


@pytest.mark.rule("RELAY-PASS-09", rejects=True)
def test_a_graph_has_one_root() -> None:
    both = [read("1f"), read("2f")]
    assert error_of(lambda: Scopes(both)).code == "relay-scope"
    assert Scopes(both[:1]).outermost.parent is None


def test_sums_back_to_known_shapes() -> None:
    """SimplifyExpr takes the shape from the type, and the executors agree."""
    module = read_module(
        "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(1, 3), float32]) { collapse_sum_like(%x, %y) }"
    )
    assert "collapse_sum_to" in relay.transform.SimplifyExpr()(module)["main"].astext()
    for kind in ("debug", "vm"):
        found = create_executor(kind, module).evaluate()(A, A[:1]).numpy()
        np.testing.assert_allclose(found, A.sum(0, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("kind", ["debug", "graph", "vm"])
def test_borders_of_computed_values(kind: str) -> None:
    text = "def @main(%x: Tensor[(2, 3), float32], %v: float32) { nn.pad(%x, exp(%v), pad_width=[[1, 0], [0, 2]]) }"
    found = create_executor(kind, read_module(text)).evaluate()(A, np.float32(0.5)).numpy()
    np.testing.assert_allclose(found, np.pad(A, ((1, 0), (0, 2)), constant_values=np.exp(0.5)), rtol=1e-6)


def test_dense_shapes_are_vectors() -> None:
    error = error_of(lambda: read_module("def @main() { dyn.sparse_to_dense(1, 1f, 1f, 1) }"))
    assert "must be a vector" in str(error)


GENERAL = """
def @general() {
  let %f = fn(%y, %z) {
    (nn.bias_add(%y, %z), power(%y, %z), nn.instance_norm(%y, %z, %z), nn.batch_norm(%y, %z, %z, %z, %z).0, %y * 1f,
     nn.dense(%y, %z), nn.dense(%y, transpose(%z, axes=[1, 0])), reshape(reshape(%y, newshape=[-1]), newshape=[2, -1]),
     cast(cast(%y, dtype="float32"), dtype="float16"), zeros_like(%y), nn.dropout(%y), squeeze(%z))
  };
  let %g = fn(%y, %z) { (nn.conv2d(%y, %z, kernel_size=[3, 3], channels=4), nn.max_pool2d(%y)) };
  (%f, %g)
}
"""
PASSES = [
    "SimplifyInference", "SimplifyExpr", "FastMath", "FoldConstant", "BackwardFoldScaleAxis", "ForwardFoldScaleAxis",
    "CanonicalizeOps", "CanonicalizeCast", "CombineParallelConv2D", "CombineParallelDense",
    "CombineParallelBatchMatmul", "EliminateCommonSubexpr", "AlterOpLayout", "Legalize", "FuseOps",
    "DynamicToStatic", "ToMixedPrecision", "ToANormalForm", "LambdaLift", "PartialEvaluate",
    "DeadCodeElimination", "EtaExpand", "SimplifyFCTranspose", "FakeQuantizationToInteger",
]  # fmt: skip


@pytest.mark.parametrize("name", PASSES)
def test_rules_pass_by_what_is_not_decided(name: str) -> None:
    """In a generalised function nobody knows shapes and dtypes: rules about them leave its operators alone."""
    module = read_module(GENERAL)
    assert "general" in getattr(relay.transform, name)()(module)
    assert "general" in relay.transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(module)
