"""Operators registered by scripts, as in TVM: typed, printed, parsed, seen by passes, run by every executor."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relay, te, tir
from tests.relay.programs import error_of

EVERY = ("debug", "graph", "vm", "aot")
_numbers = itertools.count()


def fresh(inputs: int = 1) -> Any:
    """A registered operator of a name of its own: the registry lasts as long as the process."""
    name = f"test.registered{next(_numbers)}"
    relay.op.op.register(name, "Made for a test.")
    op = relay.op.get(name)
    op.set_num_inputs(inputs)
    return op


def scaled(attrs: Any, inputs: Any, out_type: Any) -> Any:
    x = inputs[0]
    return [te.compute(x.shape, lambda *i: x(*i) * tir.const(attrs["k"], "float32"))]


def scale() -> Any:
    """x * k"""
    op = fresh()
    op.add_argument("data", "Tensor", "what is scaled")
    op.set_attrs_type_key("DictAttrs")
    op.set_support_level(3)
    op.add_type_rel("Scale", lambda types, attrs: types[0])
    relay.op.op.register_pattern(op.name, relay.op.OpPattern.ELEMWISE)
    relay.op.op.register_compute(op.name, scaled)
    return op


def test_a_kernel_of_ones_own() -> None:
    """Built in Python or written as text, in each executor."""
    op = scale()
    x = relay.var("x", shape=(2, 3))
    call = relay.Call(op, [x + relay.const(1.0)], tvm.ir.DictAttrs(k=3.0))
    built = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(call)))
    written = relay.parse(f"def @main(%x: Tensor[(2, 3), float32]) {{ nn.relu({op.name}(add(%x, 1f), k=3f)) }}")
    assert tvm.ir.structural_equal(relay.parse(written.astext()), written)
    for module, kind in itertools.product((built, written), EVERY):
        found = relay.create_executor(kind, module).evaluate()(np.ones((2, 3), "float32"))
        np.testing.assert_array_equal(found.numpy(), np.full((2, 3), 6, "float32"))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"k": 2.5},
        {"pairs": {"a": 1, "b": {"c": (True, None)}}, "flag": False},
        {"names": "x", "keys": 3, "items": ()},
    ],
)
def test_attributes_come_back_from_text_and_json(given: dict[str, Any]) -> None:
    """Guards attributes given as `DictAttrs` (the text reads as another kind of record, so that a module was not equal
    to its own text), values that are dicts (they became text), and names that records use themselves."""
    op = fresh()
    op.add_type_rel("Same", lambda types, attrs: types[0])
    x = relay.var("x", shape=(2,))
    call = relay.Call(op, [x], tvm.ir.make_node("DictAttrs", **given))
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], call)))
    for found in (relay.parse(module.astext()), tvm.ir.load_json(tvm.ir.save_json(module))):
        tvm.ir.assert_structural_equal(found, module)
        attrs = found["main"].body.attrs
        assert {name: attrs[name] for name in given} == given
        assert all(name in attrs for name in given)
    other = relay.Function([x], relay.Call(op, [x], {"j": 1}))
    assert not tvm.ir.structural_equal(other, module["main"])
    assert tvm.ir.structural_hash(other) != tvm.ir.structural_hash(module["main"])


def test_a_packed_function_of_ones_own() -> None:
    """`te.extern` of one `call_packed`: the function fills the output."""
    op = fresh()
    op.add_type_rel("Identity")
    tvm.register_func(op.name + ".run", lambda x, out: out.copyfrom(np.sort(x.numpy())))

    def called(ins: Any, outs: Any) -> Any:
        return tir.call_packed(op.name + ".run", ins[0], outs[0])

    def compute(attrs: Any, inputs: Any, out_type: Any) -> Any:
        return [te.extern(inputs[0].shape, inputs, called, dtype="float32")]

    tvm.ir.register_op_attr(op.name, "FTVMCompute")(compute)
    x = relay.var("x", shape=(3,))
    call = relay.Call(op, [x])
    module = tvm.IRModule.from_expr(relay.Function([x], call + relay.exp(call)))
    wanted = np.array([1, 2, 3], "float32") + np.exp(np.array([1, 2, 3], "float32"))
    for kind in ("debug", "graph", "vm"):
        found = relay.create_executor(kind, module).evaluate()(np.array([3, 1, 2], "float32"))
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)


def test_type_relations() -> None:
    """A rule that changes the shape, one that refuses, a standard one, and none at all."""
    x = relay.var("x", shape=(2, 3))
    flat = fresh()
    flat.add_type_rel("Flat", lambda types, attrs: relay.TensorType((types[0].shape[0] * types[0].shape[1],), "int32"))
    assert relay.testing.run_infer_type(relay.Call(flat, [x])).checked_type == relay.TensorType((6,), "int32")
    compares = fresh(2)
    compares.add_type_rel("BroadcastComp")
    found = relay.testing.run_infer_type(relay.Call(compares, [x, relay.const(1.0)])).checked_type
    assert found == relay.TensorType((2, 3), "bool")
    refusing = fresh()
    refusing.add_type_rel("Never", lambda types, attrs: None)
    for op in (refusing, fresh()):
        error = error_of(lambda op=op: relay.testing.run_infer_type(relay.Call(op, [x])))
        assert error.code == "op-registered"


def test_passes_see_what_was_registered() -> None:
    """Effects are kept, a legalisation is applied, a gradient is followed, constants are folded."""
    op = scale()
    x = relay.var("x", shape=(2,))
    call = relay.Call(op, [x], tvm.ir.DictAttrs(k=2.0))
    legal = scale()
    relay.op.op.register_legalize(legal.name, lambda attrs, args, types: args[0] + args[0])
    module = tvm.IRModule.from_expr(relay.Function([x], relay.Call(legal, [x], tvm.ir.DictAttrs(k=2.0))))
    assert legal.name not in relay.transform.Legalize()(module).astext()
    relay.op.op.register_gradient(op.name, lambda call, grad: [relay.Call(call.op, [grad], call.attrs)])
    function = relay.testing.run_infer_type(relay.Function([x], call))
    slope = relay.create_executor("vm").evaluate(relay.transform.gradient(function))(np.array([1, 5], "float32"))[1][0]
    assert slope.numpy().tolist() == [2, 2]
    folded = relay.Function([x], x + relay.Call(op, [relay.const([1.0, 2.0])], tvm.ir.DictAttrs(k=2.0)))
    assert op.name not in relay.transform.FoldConstant()(tvm.IRModule.from_expr(folded)).astext()


@pytest.mark.parametrize("call", [lambda: relay.op.get("add").set_num_inputs(3), lambda: fresh().add_type_rel("No")])
def test_what_is_refused(call: Any) -> None:
    """Changing baton's own operators; relations there are none of."""
    assert error_of(call).code == "op-registered"


def test_operators_name_their_operands() -> None:
    """In each language those that its calls have: Relay's reshape takes its target as an attribute."""
    assert [(a.name, a.type_info) for a in relay.op.get("nn.dense").arguments] == [
        ("data", "Tensor"),
        ("weight", "Tensor"),
    ]
    assert [a.type_info for a in relay.op.get("concatenate").arguments] == ["Tuple"]
    assert [a.name for a in relay.op.get("reshape").arguments] == ["data"]
    assert [a.type_info for a in tvm.ir.Op.get("relax.reshape").arguments] == ["Tensor", "Shape"]
    named = fresh()
    named.add_argument("speed", "Tensor", "how fast")
    assert named.arguments[0] == ("speed", "Tensor", "how fast")


def test_an_error_in_a_compute_function_names_the_operator() -> None:
    """It used to be told as a fault of the compiler's."""
    op = relay.op.op.register("mine.broken_compute")
    op.set_num_inputs(1)
    op.add_type_rel("Identity")
    relay.op.op.register_compute(op.name, lambda attrs, inputs, out: [inputs[0].no_such_thing])
    x = relay.var("x", shape=(2, 3))
    with pytest.raises(
        tvm.error.DiagnosticError, match=r"mine.broken_compute: .* failed on Tensor\[\(2, 3\), float32\]: Attrib"
    ):
        relay.build(relay.Function([x], relay.Call(op, [x])))


def test_an_error_in_a_type_relation_names_the_operator() -> None:
    op = relay.op.op.register("mine.broken_relation")
    op.set_num_inputs(1)

    def relation(types: Any, attrs: Any) -> Any:
        raise AssertionError("no")

    op.add_type_rel("Broken", relation)
    x = relay.var("x", shape=(2, 3))
    with pytest.raises(
        tvm.error.DiagnosticError, match=r"mine.broken_relation: .* failed on Tensor\[\(2, 3\), float32\]: Asse"
    ):
        relay.transform.InferType()(tvm.IRModule.from_expr(relay.Call(op, [x])))


def test_schedules_of_a_target_are_those_of_every_target() -> None:
    assert set(dir(tvm.topi.x86)) >= {"schedule_injective", "schedule_conv2d_nchw"}


@pytest.fixture
def own_columns() -> Iterator[Any]:
    """Columns of baton's operators, empty again afterwards."""
    filled: list[tuple[str, str]] = []

    def fill(name: str, column: str, content: Any) -> None:
        tvm.ir.register_op_attr(name, column, content, level=20)
        filled.append((name, column))

    yield fill
    for name, column in filled:
        relay.op.get(name).reset_attr(column)


@pytest.mark.parametrize("mode", ["first_order", "higher_order"])
@pytest.mark.parametrize("branch", [False, True])
def test_gradients_of_batons_own_operators(own_columns: Any, mode: str, branch: bool) -> None:
    """Straight through what rounds, as networks for quantisation are trained: it said that round has no gradient. The
    rule sees the type of the call, and what it gives may be added to others."""
    seen: list[str] = []

    def through(call: Any, grad: Any) -> list[Any]:
        seen.append(str(call.checked_type))
        return [relay.multiply(grad, relay.ones_like(call.args[0]))]

    own_columns("round", "FPrimalGradient", through)
    x, flag = relay.var("x", shape=(2,)), relay.var("flag", shape=(), dtype="bool")
    body = relay.round(x) * x
    if branch and mode == "higher_order":
        body = relay.If(flag, body, x)
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, flag], body)))
    gradient = relay.transform.gradient(module["main"], module, mode)
    value = np.asarray([1.25, -2.75], "float32")
    found = relay.create_executor("debug", module).evaluate(gradient)(value, True)[1][0]
    np.testing.assert_allclose(found.numpy(), np.round(value) + value)
    assert set(seen) == {"Tensor[(2), float32]"}


def test_gradients_that_are_too_few(own_columns: Any) -> None:
    own_columns("power", "FPrimalGradient", lambda call, grad: [grad])
    x = relay.var("x", shape=(2,))
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.power(x, x))))
    error = error_of(lambda: relay.transform.gradient(module["main"], module))
    assert "gives 1 gradients of 2 arguments" in str(error)


def test_operators_that_are_kept_alone(own_columns: Any) -> None:
    """Opaque ones are not fused, stateful ones neither folded nor shared."""
    x = relay.var("x", shape=(2,))
    module = tvm.IRModule.from_expr(relay.Function([x], relay.exp(relay.tanh(relay.exp(x)))))
    own_columns("tanh", "TOpPattern", relay.op.OpPattern.OPAQUE)
    assert relay.transform.FuseOps(2)(module).astext().count("Primitive=1") == 3
    own_columns("sin", "TOpIsStateful", True)
    kept = relay.sin(relay.const(1.0)) + relay.sin(relay.const(1.0))
    module = tvm.IRModule.from_expr(relay.Function([], kept))
    passes = [
        relay.transform.FoldConstant(),
        relay.transform.EliminateCommonSubexpr(),
        relay.transform.PartialEvaluate(),
    ]
    for step in passes:
        assert step(module).astext().count("sin(") == 2
