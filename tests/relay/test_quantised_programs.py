"""Random programs of the dialect qnn have one value: NumPy's, the interpreter's, compiled, and in canonical form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.passes.relay.quantize.qnn_canonicalize import CanonicalizeOps, qnn_legalize
from baton._src.relay.expressions import walk
from baton._src.relay.interpreter import Interpreter
from tests.at_length import seeds_at_length
from tests.relay.programs import names
from tests.relay.quantised_programs import Program, quantised_program

Q, X = relay.var("q", shape=(2, 5), dtype="int8"), relay.var("x", shape=(2, 5))
ONE, NIL, VECTOR = relay.const(1.0), relay.const(0), relay.const(np.ones(3, "float32"))
QNN = relay.qnn.op
LAYOUTS = {"qnn.conv2d": ["NHWC", "HWIO"], "qnn.conv2d_transpose": ["NHWC", "default"]}
KERNELS_OF_THEIR_OWN = {"qnn.simulated_quantize", "qnn.simulated_dequantize"}


def interpreted(module: Any, program: Program) -> Any:
    return np.asarray(Interpreter(module).evaluate(module["main"])(*program.arguments).data)


def compiled(kind: str, module: Any, program: Program) -> Any:
    return relay.create_executor(kind, module).evaluate()(*program.arguments).numpy()


def check(seed: int) -> None:
    program = quantised_program(seed)
    module = relay.transform.InferType()(baton.IRModule.from_expr(program.function))
    canonical = CanonicalizeOps()(qnn_legalize()(module))
    converted = relay.transform.ConvertLayout(LAYOUTS)(module)
    assert {n for n in names(canonical) if n.startswith("qnn.")} <= KERNELS_OF_THEIR_OWN
    for found in (
        interpreted(module, program),
        interpreted(canonical, program),
        compiled("vm", module, program),
        compiled("graph", canonical, program),
        compiled("aot", converted, program),
    ):
        assert (found.dtype, found.shape) == (program.value.dtype, program.value.shape), program.operators
        off = np.abs(found.astype("float64") - program.value.astype("float64"))
        assert off.max(initial=0) <= program.room, program.operators


@pytest.mark.parametrize("seed", [*range(5), 200322])
def test_programs(seed: int) -> None:
    """The last one: halves that are none, of 31 bits."""
    check(seed)


@pytest.mark.fuzz
def test_many_programs() -> None:
    """Others in each run; the seed stands in the failure."""
    for seed in seeds_at_length(2000):
        try:
            check(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


def test_layouts_of_quantised_convolutions() -> None:
    """Guards ConvertLayout on qnn.conv2d, which it refused; scales of channels go along with requantize."""
    x, w = relay.var("x", shape=(1, 4, 6, 6), dtype="int8"), relay.var("w", shape=(3, 4, 3, 3), dtype="int8")
    scales = relay.const(np.array([0.5, 0.25, 1], "float32"))
    sums = QNN.conv2d(x, w, relay.const(3), NIL, ONE, scales, (3, 3), 3)
    body = QNN.requantize(sums, scales, NIL, ONE, NIL, axis=1)
    module = relay.transform.InferType()(baton.IRModule.from_expr(relay.Function([x, w], body)))
    converted = relay.transform.ConvertLayout({"qnn.conv2d": ["NHWC", "HWIO"]})(module)
    calls = {n.op.name: n.attrs for n in walk(converted["main"]) if isinstance(n, relay.Call)}
    assert (calls["qnn.conv2d"].data_layout, calls["qnn.conv2d"].kernel_layout) == ("NHWC", "HWIO")
    assert calls["qnn.requantize"].axis == 3


def call(builder: Any, *shapes: tuple[tuple[int, ...], str], **attrs: Any) -> Any:
    """A call of new variables with zero points 3 and 5 and scales."""
    operands = [relay.var(f"x{i}", shape=s, dtype=d) for i, (s, d) in enumerate(shapes)]
    parameters = (relay.const(3), relay.const(5), relay.const(0.5), relay.const(0.25))
    return relay.Function(operands, builder(*operands, *parameters, **attrs))


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_sums_of_other_dtypes(dtype: str) -> None:
    """Guards that out_dtype is heeded: results were int32 whatever it said. int16 keeps the low bits."""
    function = call(relay.qnn.op.dense, ((1, 4), "int16"), ((2, 4), "int16"), units=2, out_dtype=dtype)
    if dtype == "int64":
        data, weight = np.full((1, 4), 32767, "int16"), np.full((2, 4), 32767, "int16")
    else:
        data, weight = np.full((1, 4), 203, "int16"), np.full((2, 4), 205, "int16")
    wanted = ((data.astype("int64") - 3) @ (weight.astype("int64") - 5).T).astype(dtype)
    for kind in ("debug", "vm"):
        found = relay.create_executor(kind, baton.IRModule.from_expr(function)).evaluate()(data, weight).numpy()
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, wanted)


def test_sums_are_whole_numbers() -> None:
    function = call(relay.qnn.op.dense, ((1, 4), "int8"), ((2, 4), "int8"), units=2, out_dtype="float32")
    with pytest.raises(baton.TVMError, match="out_dtype is float32"):
        relay.transform.InferType()(baton.IRModule.from_expr(function))


def test_places_of_parameters() -> None:
    """Guards TVM's order behind the geometry of conv2d_transpose: groups, channels, kernel_size."""
    x, w = relay.var("x", shape=(1, 4, 5, 5), dtype="int8"), relay.var("w", shape=(4, 3, 2, 2), dtype="int8")
    zero, scale = relay.const(0), relay.const(1.0)
    made = relay.qnn.op.conv2d_transpose(
        x, w, zero, zero, scale, scale, (1, 1), (0, 0), (1, 1), 2, 6, (2, 2), "NCHW", "IOHW", "", (0, 0), "int32"
    )
    assert (made.attrs.groups, made.attrs.channels, made.attrs.kernel_size) == (2, 6, (2, 2))


@pytest.mark.parametrize(
    ("operand", "made", "message"),
    [
        (Q, QNN.requantize(Q, VECTOR, NIL, ONE, NIL), "input_scale has 3 elements, axis -1 of .2, 5. has 5"),
        (Q, QNN.add(Q, Q, VECTOR, NIL, ONE, NIL, ONE, NIL, lhs_axis=0), "lhs_scale has 3 elements, axis 0"),
        (Q, QNN.dense(Q, Q, NIL, NIL, ONE, VECTOR, 2), "kernel_scale has 3 elements, axis -1 of .2, 2. has 2"),
        (Q, QNN.concatenate([Q, Q], [ONE, VECTOR], [NIL, NIL], ONE, NIL, 0), "input_scales must be scalars"),
        (X, QNN.requantize(X, ONE, NIL, ONE, NIL), "data must be quantised, got float32"),
        (X, QNN.mul(X, X, ONE, NIL, ONE, NIL, ONE, NIL), "lhs must be quantised, got float32"),
        (Q, QNN.requantize(Q, ONE, NIL, ONE, NIL, out_dtype="float32"), "gives integers, not float32"),
        (Q, QNN.requantize(Q, ONE, NIL, ONE, NIL, compute_dtype="float8"), "compute_dtype must be one of"),
        (X, QNN.quantize(X, ONE, NIL, out_dtype="float16"), "gives integers, not float16"),
        (Q, QNN.dequantize(Q, ONE, NIL, out_dtype="int32"), "gives floating-point numbers, not int32"),
    ],
)
def test_refused(operand: Any, made: Any, message: str) -> None:
    """Guards that kernels do not read behind vectors that are shorter than their axis, nor compute with real numbers
    as if they were quantised."""
    with pytest.raises(baton.TVMError, match=message):
        relay.transform.InferType()(baton.IRModule.from_expr(relay.Function([operand], made)))


def test_rules_for_operators_of_the_dialect() -> None:
    """Guards relay.qnn.op.register_qnn_legalize: rules of users come first in qnn.transform.Legalize."""
    seen = []
    QNN.register_qnn_legalize("qnn.tanh", lambda attrs, inputs, types: seen.append(len(inputs)), level=99)
    function = relay.Function([Q], QNN.tanh(Q, ONE, NIL, ONE, NIL))
    try:
        relay.qnn.transform.Legalize()(relay.transform.InferType()(baton.IRModule.from_expr(function)))
    finally:
        relay.op.get("qnn.tanh").reset_attr("FTVMQnnLegalize")
    assert seen == [5]
