"""Devices, views instead of copies, transposed weights, labels: values stay, and what cannot be is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.relay.executors import create_executor
from baton._src.ir.module import IRModule
from baton._src.passes.relay.fuse_ops import FuseOps
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.label_expressions import AnnotateSpans, CapturePostDfsIndexInSpans, LabelOps
from baton._src.passes.relay.memory.plan_devices import PlanDevices
from baton._src.passes.relay.memory.remove_standalone_reshapes import RemoveStandaloneReshapes
from baton._src.passes.relay.operators.simplify_fc_transpose import SimplifyFCTranspose, convert
from baton._src.relay.expressions import walk
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Call, Function
from tests.passes.relay.test_before_after import check_same, main, names
from tests.relay.programs import error_of, read

X = "%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]"
ON_CPU = 'virtual_device="cpu"'
ON_GPU = 'virtual_device="cuda"'

PLANS = {
    f"on_device(exp(%x), {ON_CPU}) + on_device(%y, {ON_CPU})": 0,
    f"on_device(exp(%x), {ON_GPU}) + on_device(tanh(%y), {ON_GPU}, constrain_result=True)": 0,
    f"on_device(exp(%x), {ON_CPU}) + on_device(tanh(%y), {ON_GPU}, constrain_result=True)": 1,
    f"on_device(on_device(exp(%x), {ON_GPU}) + %y, {ON_CPU}, constrain_result=True)": 1,
    f"let %a = on_device(exp(%x), {ON_GPU}); let %b = %a + %y; tanh(%b)": 1,
    f"if (True) {{ on_device(%x, {ON_GPU}) }} else {{ %y }}": 1,
}


@pytest.mark.rule("RELAY-PASS-33")
@pytest.mark.parametrize("body", PLANS)
def test_devices(body: str) -> None:
    before = main(X, body)
    after = PlanDevices()(before)
    check_same(before, after)
    assert "on_device" not in names(after)
    assert names(after).count("device_copy") == PLANS[body]


@pytest.mark.rule("RELAY-PASS-33", rejects=True)
@pytest.mark.parametrize(
    "body",
    [
        f"on_device(%x, {ON_CPU}, constrain_result=True) + on_device(%y, {ON_GPU}, constrain_result=True)",
        f"on_device(on_device(%x, {ON_CPU}, constrain_result=True), {ON_GPU})",
        f"on_device(%x, {ON_CPU}) + on_device(%x, {ON_GPU})",
    ],
)
def test_conflicts_without_a_copy(body: str) -> None:
    assert error_of(lambda: PlanDevices()(main(X, body))).code == "relay-device"


def test_a_default_device_is_named() -> None:
    """Copies went to a device called None."""
    error = error_of(lambda: PlanDevices(None)(main(X, f"on_device(%x, {ON_CPU})")))
    assert "got None" in str(error)


@pytest.mark.rule("RELAY-PASS-33")
def test_reshapes_alone_are_views() -> None:
    before = main(X, "nn.dense(reshape(%x, newshape=[3, 2]), reshape(%y, newshape=[3, 2]))")
    fused = FuseOps(fuse_opt_level=0)(before)
    after = RemoveStandaloneReshapes()(fused)
    assert names(after).count("reshape") == 2
    calls = [n for n in walk(after["main"].body) if isinstance(n, Call) and isinstance(n.op, Function)]
    assert len(calls) == 1
    check_same(before, after)
    np.testing.assert_allclose(*(create_executor("vm", m).evaluate()(A, A).numpy() for m in (before, after)))


A = np.arange(6, dtype="float32").reshape(2, 3)


def test_transposed_weights() -> None:
    function = read(
        "fn(%x: Tensor[(2, 3), float32], %w: Tensor[(3, 4), float32], %v: Tensor[(3, 4), float32]) {"
        " (nn.dense(%x, transpose(%w)), nn.dense(%x, transpose(%v)) * sum(%v)) }"
    )
    rng = np.random.default_rng(1)
    w, v = rng.standard_normal((2, 3, 4)).astype("float32")
    made, params = convert(function, {"w": w, "v": v})
    assert params["w"].data.shape == (4, 3)
    assert np.shape(params["v"]) == (3, 4)  # used in another way, too
    found = Interpreter().evaluate(made)(A, params["w"], params["v"])
    for one, other in zip(found, Interpreter().evaluate(function)(A, w, v)):
        np.testing.assert_allclose(one.data, other.data, rtol=1e-5)
    assert names(IRModule({"main": made})).count("transpose") == 1
    assert SimplifyFCTranspose()(IRModule({"main": function}))


def test_labels() -> None:
    module = LabelOps()(FuseOps(fuse_opt_level=0)(main(X, "(exp(%x), exp(%y), tanh(%x))")))
    labels = [n.attrs["hash"] for n in walk(module["main"]) if isinstance(n, Function) and n.attrs.get("Primitive")]
    assert len(labels) == 3
    assert len(set(labels)) == 2


def test_places() -> None:
    module = AnnotateSpans()(main(X, "exp(%x) + %y"))
    calls: list[Any] = [n for n in walk(module["main"]) if isinstance(n, Call)]
    assert all(c.span is not None and c.span.source.name == "GeneratedSource" for c in calls)
    numbered = CapturePostDfsIndexInSpans()(InferType()(main(X, "exp(%x) + %y")))
    lines = [n.span.line for n in walk(numbered["main"]) if isinstance(n, Call)]
    assert lines == sorted(lines)
    assert len(set(lines)) == 2
