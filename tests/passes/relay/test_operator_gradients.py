"""The gradient of every operator that has one, in Relay: reverse mode against finite differences, over all samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import relay
from baton._src.driver.relay.executors import create_executor
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.samples import Arr
from baton._src.passes.relay.gradients.gradient import gradient
from baton._src.passes.relay.gradients.higher_order_gradient import higher_order_gradient
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Call, Function, Tuple, TupleGetItem, var
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.tensor import array
from tests.relay.programs import plain, read_module, same

_STEP = 1e-5
_SKIPPED = {"cast_like", "astype", "round"}


def _cases() -> list[Any]:
    found = []
    for definition in CATALOGUE:
        if isinstance(definition.gradient, NotApplicable) or isinstance(definition.relay_name, NotApplicable):
            continue
        if definition.name in _SKIPPED or definition.samples is None or definition.relay_op is None:
            continue
        for number, sample in enumerate(definition.samples()):
            tensors = _flat(sample.args)
            inputs = [i for i in definition.inputs if "relay" in i.languages]
            if (
                not sample.in_relay
                or not tensors
                or not all(isinstance(a, Arr) for a in tensors)
                or tensors[0].dtype != "float32"
                or len(sample.args) > len(inputs)
            ):
                continue
            if tensors[0].values is not None and np.isnan(np.asarray(tensors[0].values)).any():
                continue
            found.append(pytest.param(definition, sample, id=f"{definition.name}-{number}"))
    return found


def _flat(operands: Any) -> list[Any]:
    """The operands, those in tuples one by one."""
    return [x for a in operands for x in (a if isinstance(a, tuple) else (a,))]


def _function(definition: OpDef[Any], sample: Any, values: list[Any]) -> Function:
    params = [var(f"x{i}", shape=v.shape, dtype=str(v.dtype)) for i, v in enumerate(values)]
    left = iter(params)
    args = [Tuple([next(left) for _ in a]) if isinstance(a, tuple) else next(left) for a in sample.args]
    return Function(params, Call(definition.relay_op, args, sample.attrs if definition.attrs.names else None))


def _weighted(function: Function, values: list[Any], rng: Any) -> Function:
    """Every float that `function` gives for `values`, times a number of its own: gradients that land on the wrong
    element, or in the wrong order, show."""
    found = Interpreter().evaluate(function)(*(array(v) for v in values))
    fields = found if isinstance(found, tuple) else (found,)
    parts = []
    for number, field in enumerate(fields):
        part = TupleGetItem(function.body, number) if isinstance(found, tuple) else function.body
        if field.data.dtype.kind == "f":
            weights = rng.uniform(0.5, 1.5, field.data.shape).astype(field.data.dtype)
            part = relay.multiply(part, relay.const(weights, str(weights.dtype)))
        parts.append(part)
    return Function(function.params, Tuple(parts) if isinstance(found, tuple) else parts[0])


@pytest.mark.rule("RELAY-PASS-29")
@pytest.mark.parametrize(("definition", "sample"), _cases())
def test_gradient_is_the_slope(definition: OpDef[Any], sample: Any) -> None:
    rng = np.random.default_rng(3)
    drawn = [a.draw(rng, sample.dims) for a in _flat(sample.args)]
    values = [np.asarray(v, "float64") if v.dtype == np.float32 else np.asarray(v) for v in drawn]
    function = _function(definition, sample, values)
    try:
        relay.transform.InferType()(IRModule.from_expr(function))
    except DiagnosticError as error:
        pytest.skip(f"no call of Relay: {str(error)[:80]}")
    function = _weighted(function, values, rng)
    try:
        made = gradient(function, mode="first_order")
    except DiagnosticError as error:
        if error.code not in ("op-gradient", "relay-gradient"):
            raise
        pytest.skip(str(error)[:80])
    found, grads = Interpreter().evaluate(made)(*(array(v) for v in values))
    several = isinstance(found, tuple)

    def total(given: list[Any]) -> float:
        result = Interpreter().evaluate(function)(*(array(np.asarray(v)) for v in given))
        parts = result if isinstance(result, tuple) else (result,)
        return float(sum(p.data.astype("float64").sum() for p in parts if p.data.dtype.kind == "f"))

    for position, (value, grad) in enumerate(zip(values, grads)):
        assert grad.data.shape == value.shape, position
        if value.dtype != np.float64:
            continue
        direction = rng.uniform(-1, 1, value.shape)
        ends = [
            total([v + s * direction if i == position else v for i, v in enumerate(values)]) for s in (_STEP, -_STEP)
        ]
        slope = (ends[0] - ends[1]) / (2 * _STEP)
        got = float(np.sum(grad.data * direction))
        assert got == pytest.approx(slope, rel=2e-4, abs=3e-5 if not several else 1e-4), f"operand {position}"


@pytest.mark.parametrize("name", ["multiply", "nn.dense", "nn.softmax", "mean", "concat", "split", "nn.conv2d", "tanh"])
def test_dual_numbers_agree(name: str) -> None:
    definition = CATALOGUE.get(name)
    assert definition.samples is not None
    rng = np.random.default_rng(4)
    for sample in definition.samples():
        if not sample.args or not all(isinstance(a, Arr) and a.dtype == "float32" for a in sample.args):
            continue
        values = [a.draw(rng, sample.dims) for a in sample.args]
        function = _function(definition, sample, values)
        try:
            one = gradient(function, mode="first_order")
        except DiagnosticError:
            continue
        other = higher_order_gradient(function, IRModule())
        grads = [Interpreter().evaluate(f)(*values)[1] for f in (one, other)]
        for a, b in zip(*grads):
            np.testing.assert_allclose(a.data, b.data, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("left", "right", "attrs"),
    [
        ((2, 3), (3,), {}),
        ((3,), (3,), {}),
        ((3,), (3, 4), {}),
        ((3, 2), (3,), {"transpose_a": True}),
        ((3,), (4, 3), {"transpose_b": True}),
        ((2, 3), (5, 3, 4), {}),
        ((5, 1, 2, 3), (6, 3, 4), {}),
        ((5, 2, 3), (4, 3), {"transpose_b": True}),
    ],
)
def test_products_of_all_ranks(left: tuple[int, ...], right: tuple[int, ...], attrs: dict[str, bool]) -> None:
    """Guards products of vectors and of batches: their gradients were refused, or named axes that a vector has not."""
    rng = np.random.default_rng(5)
    values = [rng.uniform(-1, 1, shape) for shape in (left, right)]
    params = [var(f"x{i}", shape=v.shape, dtype="float64") for i, v in enumerate(values)]
    definition = CATALOGUE.get("nn.matmul")
    function = Function(params, Call(definition.relay_op, params, definition.attrs(**attrs)))
    _, grads = Interpreter().evaluate(gradient(function, mode="first_order"))(*values)
    for position, (value, grad) in enumerate(zip(values, grads)):
        direction = rng.uniform(-1, 1, value.shape)
        ends = [
            Interpreter().evaluate(function)(*(v + s * direction if i == position else v for i, v in enumerate(values)))
            for s in (_STEP, -_STEP)
        ]
        slope = float((ends[0].data - ends[1].data).sum()) / (2 * _STEP)
        assert float(np.sum(grad.data * direction)) == pytest.approx(slope, rel=1e-6), position


def test_nothing_flows_back_through_comparisons_and_positions() -> None:
    """Guards masks: their operators were refused, though dual numbers took them; one_hot's values had no gradient."""
    x, on, off = var("x", shape=(4,)), var("on", shape=()), var("off", shape=())
    mask = relay.cast(relay.less_equal(x, relay.const(1.0)), "float32")
    code = relay.one_hot(relay.argmax(x, axis=[0], keepdims=True), on, off, 4, -1, "float32")
    body = relay.multiply(x, mask) + relay.multiply(relay.squeeze(code, axis=[0]), relay.const([1.0, 2.0, 3.0, 4.0]))
    function = Function([x, on, off], body)
    for found in (gradient(function, mode="first_order"), higher_order_gradient(function, IRModule())):
        _, grads = Interpreter().evaluate(found)(np.array([0, 1, 5, 2], "float32"), np.float32(2), np.float32(1))
        assert [g.data.tolist() for g in grads] == [[1, 1, 0, 0], 3, 7]


OPEN = [
    "sum(nn.softmax(%x) * %x)",
    "mean(%x, axis=[0]) * max(%x, axis=[0])",
    "concatenate((%x * %x, exp(Constant(1, (3, 4), float32)), %x), axis=-2) * 2f",
    "squeeze(expand_dims(variance(%x, axis=[0]), axis=0), axis=[0])",
    "reshape(%x * %x, newshape=[0, 2, -1])",
    "tile(%x * %x, reps=[2, 1])",
    "repeat(%x * %x, repeats=2, axis=1)",
    "nn.batch_matmul(reshape(%x, newshape=[0, 2, 2]), reshape(%x, newshape=[0, 2, 2]))",
]


@pytest.mark.rule("RELAY-PASS-29")
@pytest.mark.parametrize("body", OPEN)
@pytest.mark.parametrize("mode", ["higher_order", "first_order"])
def test_gradients_of_open_sizes(body: str, mode: str) -> None:
    """Guards operands with `?`: what a fold, a reshape or a join made of them was refused, or cut at no places."""
    x = np.random.default_rng(0).standard_normal((2, 4)).astype("float32")
    results = []
    for rows in ("?", "2"):
        module = read_module(f"def @main(%x: Tensor[({rows}, 4), float32]) {{ {body} }}")
        slope = IRModule({"main": relay.transform.gradient(module["main"], module, mode=mode)})
        results += [plain(create_executor(kind, slope).evaluate()(x)) for kind in ("debug", "vm")]
    assert all(same(found, results[-2]) for found in results)
