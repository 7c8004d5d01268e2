"""What TVM's passes leave behind, operator by operator: scripts and suites look for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton.relay import transform


def after(body: Any, *passes: Any) -> baton.IRModule:
    """A module of `body` after passes."""
    module = transform.InferType()(baton.IRModule.from_expr(body))
    with baton.transform.PassContext(opt_level=3):
        return baton.transform.Sequential([*passes, transform.InferType()])(module)


def names(module: baton.IRModule) -> list[str]:
    """The operators of main, parts first."""
    found: list[str] = []
    relay.analysis.post_order_visit(
        module["main"], lambda n: found.append(n.op.name) if isinstance(n, relay.Call) else None
    )
    return found


def same(body: Any, module: baton.IRModule, *arrays: Any) -> None:
    """Both give the same, compiled."""
    before = relay.create_executor("debug", baton.IRModule.from_expr(body)).evaluate()(*arrays)
    found = relay.create_executor("graph", module).evaluate()(*arrays)
    np.testing.assert_allclose(found.numpy(), before.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.rule("RELAY-PASS-27")
def test_converted_layouts_stand_between_layout_transforms() -> None:
    x, w = relay.var("x", shape=(1, 8, 8, 4)), relay.var("w", shape=(3, 3, 4, 6))
    options = {"data_layout": "NHWC", "kernel_layout": "HWIO", "padding": (1, 1)}
    body = relay.nn.relu(relay.nn.conv2d(x, w, channels=6, kernel_size=(3, 3), **options))
    found = after(body, transform.ConvertLayout({"nn.conv2d": ["NCHW", "default"]}))
    assert names(found) == ["layout_transform", "layout_transform", "nn.conv2d", "nn.relu", "layout_transform"]
    rng = np.random.default_rng(0)
    same(body, found, rng.random((1, 8, 8, 4), "float32"), rng.random((3, 3, 4, 6), "float32"))


IMAGE = relay.var("x", shape=(1, 8, 2, 4))
BLOCKED = relay.layout_transform(IMAGE, "NCHW", "NCHW4c")


def test_layout_transforms_and_transposes_cancel() -> None:
    for body in (
        relay.layout_transform(BLOCKED, "NCHW4c", "NCHW"),
        relay.transpose(relay.layout_transform(IMAGE, "NCHW", "NHWC"), [0, 3, 1, 2]),
        relay.layout_transform(relay.transpose(IMAGE, [0, 2, 3, 1]), "NHWC", "NCHW"),
    ):
        assert names(after(relay.nn.relu(body), transform.SimplifyExpr())) == ["nn.relu"]


@pytest.mark.parametrize(
    ("body", "layouts"),
    [
        (relay.layout_transform(BLOCKED, "NCHW4c", "NCHW2c"), ("NCHW", "NCHW2c")),
        (relay.layout_transform(relay.transpose(IMAGE, [0, 2, 1, 3]), "NHCW", "NCHW4c"), ("NCHW", "NCHW4c")),
        (relay.layout_transform(relay.transpose(IMAGE, [3, 0, 2, 1]), "NHWC", "NHWC4c"), ("HCWN", "NHWC4c")),
        (relay.layout_transform(relay.layout_transform(IMAGE, "NCHW", "NHWC"), "NHWC", "NHWC2c"), ("NCHW", "NHWC2c")),
        (
            relay.transpose(relay.layout_transform(relay.exp(BLOCKED), "NCHW4c", "NCHW"), [3, 0, 2, 1]),
            ("NCHW4c", "WNHC"),
        ),
    ],
)
def test_blocks_are_cut_at_once(body: Any, layouts: tuple[str, str]) -> None:
    """A layout_transform that blocks an axis takes the moves of whole axes beside it along."""
    found = after(body, transform.SimplifyExpr())
    last = found["main"].body
    assert (last.op.name, last.attrs.src_layout, last.attrs.dst_layout) == ("layout_transform", *layouts)
    assert len(names(found)) == len(names(baton.IRModule.from_expr(body))) - 1
    same(body, found, np.random.default_rng(1).random((1, 8, 2, 4), "float32"))


@pytest.mark.parametrize(("known", "left"), [(True, "exp"), (False, "tanh")])
def test_a_branch_that_is_known_is_taken(known: bool, left: str) -> None:
    x = relay.var("x", shape=(2,))
    assert names(after(relay.If(relay.const(known), relay.exp(x), relay.tanh(x)), transform.FoldConstant())) == [left]


def test_mixed_precision_says_what_sums_are() -> None:
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    found = after(relay.nn.conv2d(x, w), transform.ToMixedPrecision("float16"))
    calls: list[Any] = []
    relay.analysis.post_order_visit(found["main"], lambda n: calls.append(n) if isinstance(n, relay.Call) else None)
    assert [str(c.attrs.out_dtype) for c in calls if c.op.name == "nn.conv2d"] == ["float16"]


def quantised(operator: Any, scale: float = 2.0) -> relay.Expr:
    """quantize(operator(dequantize(%x)))"""
    x, zero = relay.var("x", shape=(1, 3, 4, 4), dtype="int8"), relay.const(0)
    real = relay.qnn.op.dequantize(x, relay.const(2.0), zero)
    return relay.qnn.op.quantize(operator(real), relay.const(scale), zero, out_dtype="int8")


def test_integers_that_mean_the_same_are_not_requantised() -> None:
    array = np.arange(-24, 24, dtype="int8").reshape(1, 3, 4, 4)
    for scale, last in ((2.0, "maximum"), (3.0, "qnn.requantize")):
        body = quantised(relay.nn.relu, scale)
        found = after(body, transform.FakeQuantizationToInteger())
        assert names(found)[-1] == last
        same(body, found, array)


def test_a_region_that_stays_is_an_error_with_hard_fail() -> None:
    body = quantised(relay.tan)
    assert "tan" in names(after(body, transform.FakeQuantizationToInteger()))
    with pytest.raises(baton.error.DiagnosticError, match="tan between a dequantize and a quantize"):
        after(body, transform.FakeQuantizationToInteger(hard_fail=True))


def test_injective_operators_are_fused_into_a_concatenation() -> None:
    x = relay.var("x", shape=(1, 4, 8, 8))
    body = relay.concatenate([relay.nn.max_pool2d(x), relay.reverse(x, 1)], 1)
    found = after(body, transform.FuseOps(2))
    groups: list[list[str]] = []

    def note(node: Any) -> None:
        if isinstance(node, relay.Function) and "Primitive" in node.attrs:
            groups.append(names(baton.IRModule.from_expr(node.body)))

    relay.analysis.post_order_visit(found["main"].body, note)
    assert sorted(groups) == [["nn.max_pool2d"], ["reverse", "concatenate"]]
    same(body, found, np.random.default_rng(2).random((1, 4, 8, 8), "float32"))


X, W = relay.var("x", shape=(1, 4, 6, 6)), relay.var("w", shape=(4, 4, 3, 3))


def conv(data: Any) -> Any:
    return relay.nn.conv2d(data, W, padding=(1, 1))


def normalised(data: Any) -> Any:
    vectors = [relay.const(np.linspace(0.5, 2, 4).astype("float32")) for _ in range(4)]
    return relay.nn.batch_norm(data, *vectors)[0]


def crossed(data: Any) -> Any:
    """Two halves of the channels, exchanged."""
    halves = relay.split(data, 2, axis=1)
    return relay.concatenate((halves[1], halves[0]), axis=1)


@pytest.mark.rule("RELAY-PASS-27")
@pytest.mark.parametrize(
    ("along", "between"),
    [
        (normalised, ["nn.batch_norm"]),
        (crossed, ["split", "concatenate"]),
        (relay.nn.dropout, ["nn.dropout"]),  # its tuple was transformed like a tensor, which failed
        (lambda data: relay.nn.softmax(data, axis=1), ["nn.softmax"]),
        (lambda data: relay.nn.log_softmax(data), ["nn.log_softmax"]),
        (lambda data: relay.concatenate((data, relay.exp(X)), -2), ["exp", "layout_transform", "concatenate"]),
    ],
)
def test_operators_along_an_axis_work_in_the_layout_around_them(along: Any, between: list[str]) -> None:
    """Every batch_norm stood between two transforms."""
    body = conv(along(relay.nn.relu(conv(X))))
    found = after(body, transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]}))
    weighted = ["layout_transform", "nn.conv2d"]
    assert names(found) == ["layout_transform", *weighted, "nn.relu", *between, *weighted, "layout_transform"]
    rng = np.random.default_rng(0)
    same(body, found, rng.random((1, 4, 6, 6), "float32"), rng.random((4, 4, 3, 3), "float32"))


def test_a_tuple_of_values_in_another_layout_is_put_back_once() -> None:
    halves = relay.split(conv(X), 2, axis=1)
    found = after(
        relay.Tuple([halves[0], halves.astuple(), halves[0]]), transform.ConvertLayout({"nn.conv2d": ["NHWC"]})
    )
    assert names(found).count("layout_transform") == 4  # of %x and %w, and of each half
