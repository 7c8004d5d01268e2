"""The dialect qnn beyond sums and products: canonical forms say the same, and TVM's builders run compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.passes.relay.quantize.qnn_canonicalize import CanonicalizeOps
from baton._src.relay.interpreter import Interpreter
from tests.passes.relay.test_before_after import names


def _parameters(*numbers: float) -> list[Any]:
    """Scales and zero points, in turns."""
    return [relay.const(n, "float32" if i % 2 == 0 else "int32") for i, n in enumerate(numbers)]


X, Y = relay.var("x", shape=(2, 6), dtype="int8"), relay.var("y", shape=(2, 6), dtype="int8")
IMAGE = relay.var("x", shape=(1, 4, 6, 2), dtype="int8")
S = (0.02, 3, 0.01, -5)
QNN = relay.qnn.op
UNARY = ("abs", "tanh", "erf", "exp", "sigmoid", "sqrt", "rsqrt", "log", "hardswish")

CASES: dict[str, tuple[list[Any], Any]] = {
    **{n: ([X], getattr(QNN, n)(X, *_parameters(*S))) for n in UNARY},
    "softmax": ([X], QNN.softmax(X, *_parameters(0.05, 3, 0.004, -128), axis=1)),
    "leaky_relu": ([X], QNN.leaky_relu(X, 0.3, *_parameters(*S))),
    "avg_pool2d": ([IMAGE], QNN.avg_pool2d(IMAGE, *_parameters(*S), (2, 2), (2, 2), (0, 0))),
    "concatenate": (
        [X, Y],
        QNN.concatenate(
            relay.Tuple([X, Y]),
            relay.Tuple(_parameters(0.02, 0)[:1] + _parameters(0.03, 0)[:1]),
            relay.Tuple([relay.const(3, "int32"), relay.const(-2, "int32")]),
            *_parameters(0.05, 1),
            axis=1,
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_canonical_forms_and_compiled_results(name: str) -> None:
    """Guards the three meanings of an operator: reference, canonical form, native code."""
    params, body = CASES[name]
    module = relay.transform.InferType()(baton.IRModule.from_expr(relay.Function(params, body)))
    canonical = CanonicalizeOps()(module)
    assert not any(n.startswith("qnn.") for n in names(canonical))
    rng = np.random.default_rng(2)
    low = 4 if name in ("log", "rsqrt", "sqrt") else -100
    data = [rng.integers(low, 100, tuple(int(d) for d in p.type_annotation.shape)).astype("int8") for p in params]
    wanted = np.asarray(Interpreter(module).evaluate(module["main"])(*data).data)
    assert wanted.dtype == np.int8
    for program in (canonical, module):
        found = relay.create_executor("vm", mod=program).evaluate()(*data).numpy()
        # A last bit of exp or tanh may move a number across a half.
        assert np.abs(found.astype(int) - wanted.astype(int)).max() <= 1
