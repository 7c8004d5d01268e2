"""The reference interpreter: what is evaluated how often, and programs that go deep; users' operators and relations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relay
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.check.relations import FunctionRelation
from baton._src.relay.check.show import show_type
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import TempExpr
from baton._src.relay.text.parser import parse_expr
from tests.relay.programs import error_of, plain, read, read_module, run


def _infer(call: OpCall[Any]) -> Info:
    return call.tensor(0)


class Counting:
    """A catalogue with `count(x)`: the identity, which counts its calls."""

    def __init__(self, stateful: bool = False) -> None:
        self.calls = 0
        operator = OpDef(
            "count",
            inputs=(Input("x"),),
            infer=_infer,
            compute=NotApplicable("for tests"),
            reference=self._reference,
            fusion=Fusion.OPAQUE,
            stateful=stateful,
        )
        self.catalogue = CATALOGUE.with_op(operator)

    def _reference(self, inputs: Any, attrs: Any) -> Any:
        self.calls += 1
        return inputs[0]

    def run(self, text: str) -> Any:
        return plain(Interpreter().evaluate(parse_expr(text, self.catalogue)))


@pytest.mark.parametrize(
    ("text", "value", "calls"),
    [
        pytest.param("%1 = count(3f)\n%2 = %1 + %1\n%2 * %2", 36.0, 1, marks=pytest.mark.rule("RELAY-GRAPH-3")),
        pytest.param("if (False) { count(1) } else { 2 }", 2, 0, marks=pytest.mark.rule("RELAY-IF-5")),
        pytest.param("count(1) + count(2)", 3, 2, marks=pytest.mark.rule("RELAY-CALL-8")),
        pytest.param(
            "let %v = count(1); let %f = fn(%y: int32) { %y + %v }; %f(1) + %f(2)",
            5,
            1,
            marks=pytest.mark.rule("RELAY-LET-7"),
        ),
        ("%1 = count(1)\nif (True) { %1 + %1 } else { %1 }", 2, 1),
        ("let %f = fn(%y: int32) { %1 = count(%y); %1 + %1 }; %f(1) + %f(2)", 6, 2),
        ("%1 = count(1)\nlet %f = fn(%y: int32) { %y + %1 }; %f(1) + %f(2)", 5, 2),
    ],
)
def test_how_often(text: str, value: object, calls: int) -> None:
    counting = Counting()
    assert counting.run(text) == value
    assert counting.calls == calls


DEEP = """
def @loop(%i: int32, %sum: int32) -> int32 { if (%i == 0) { %sum } else { @loop(%i - 1, %sum + 1) } }
def @deep(%i: int32) -> int32 { if (%i == 0) { 0 } else { 1 + @deep(%i - 1) } }
def @even(%n: int32) -> bool { if (%n == 0) { True } else { @odd(%n - 1) } }
def @odd(%n: int32) -> bool { if (%n == 0) { False } else { @even(%n - 1) } }
"""


@pytest.mark.rule("RELAY-MOD-2")
def test_deep_programs() -> None:
    module = read_module(DEEP)
    assert run("@loop(50000, 0)", module=module) == 50000
    assert run("@deep(50000)", module=module) == 50000
    assert run("@even(4)", module=module) is True


def test_tail_calls_leave_nothing_behind() -> None:
    """The stacks stay as short as they were, however long a loop runs."""
    interpreter = Interpreter(read_module(DEEP))
    lengths: set[int] = set()
    original = interpreter._enter

    def watched(*args: Any) -> None:
        lengths.add(len(interpreter._todo) + len(interpreter._values))
        original(*args)

    interpreter._enter = watched
    interpreter.evaluate(read("@loop(200, 0)", interpreter.module))
    assert len(lengths) <= 2


@pytest.mark.rule("RELAY-REL-6")
@pytest.mark.rule("RELAY-OP-2")
def test_a_users_relation_and_operator() -> None:
    def same(args: Any, num_inputs: int, attrs: Any, reporter: Any) -> bool:
        reporter.assign(args[0], args[1])
        return True

    twice = OpDef(
        "twice",
        inputs=(Input("x"),),
        infer=FunctionRelation("Same", same),
        compute=NotApplicable("for tests"),
        reference=lambda inputs, attrs: np.asarray(inputs[0] * 2),
        fusion=Fusion.ELEMWISE,
    )
    expr = parse_expr("twice(Constant(3, (2), float32))", CATALOGUE.with_op(twice))
    assert show_type(expr.checked_type) == "Tensor[(2), float32]"
    assert plain(Interpreter().evaluate(expr)) == [6.0, 6.0]


@pytest.mark.rule("RELAY-REL-6", rejects=True)
def test_a_relation_that_reports_a_conflict() -> None:
    def never(args: Any, num_inputs: int, attrs: Any, reporter: Any) -> bool:
        reporter.fail("always fails")
        return True

    relations = {"Never": FunctionRelation("Never", never)}
    error = error_of(lambda: parse_expr("(fn(%x) where Never { %x })(1)", CATALOGUE, relations=relations))
    assert "Never: always fails" in str(error)


@pytest.mark.rule("RELAY-CALL-7", rejects=True)
def test_an_operator_without_implementation() -> None:
    shapeless = OpDef(
        "shapeless",
        inputs=(Input("x"),),
        infer=_infer,
        compute=NotApplicable("nobody wrote it"),
        reference=NotApplicable("nobody wrote it"),
        fusion=Fusion.OPAQUE,
    )
    expr = parse_expr("shapeless(1)", CATALOGUE.with_op(shapeless))
    error = error_of(lambda: Interpreter().evaluate(expr))
    assert error.code == "relay-run"
    assert "nobody wrote it" in str(error)


@pytest.mark.rule("RELAY-TEMP-1", rejects=True)
def test_temporary_expressions_have_no_value() -> None:
    for action in (Interpreter().evaluate, lambda node: node.astext()):
        assert error_of(lambda act=action: act(TempExpr())).code == "RELAY-TEMP-1"


BUILDS: dict[str, Any] = {
    "constant": lambda c: c,
    "view": lambda c: relay.reshape(c, (3, 2)),
    "tuple": lambda c: relay.Tuple([c, relay.reshape(c, (6,)), c]),
}


@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
@pytest.mark.parametrize("build", BUILDS)
def test_writing_into_results_changes_no_program(kind: str, build: str) -> None:
    """The debug executor gave constants themselves and views of them: writing into a result changed the program."""
    constant = relay.const(np.arange(6, dtype="float32").reshape(2, 3))
    function = relay.Function([], BUILDS[build](constant))
    run_it = relay.create_executor(kind, tvm.IRModule.from_expr(function)).evaluate()
    first = run_it()
    for tensor in first if build == "tuple" else [first]:
        tensor.copyfrom(np.full(tensor.shape, 9, "float32"))
    again = run_it()
    for tensor in again if build == "tuple" else [again]:
        np.testing.assert_array_equal(tensor.numpy().ravel(), np.arange(6, dtype="float32"))
    np.testing.assert_array_equal(constant.data.numpy().ravel(), np.arange(6, dtype="float32"))


@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
def test_writing_into_a_view_changes_no_argument(kind: str) -> None:
    x = relay.var("x", shape=(2, 3))
    function = relay.Function([x], relay.reshape(x, (3, 2)))
    given = tvm.nd.array(np.zeros((2, 3), "float32"))
    relay.create_executor(kind, tvm.IRModule.from_expr(function)).evaluate()(given).copyfrom(np.ones((3, 2), "float32"))
    assert not given.numpy().any()


@pytest.mark.parametrize("kind", ["debug", "vm", "graph", "aot"])
def test_writing_into_a_result_changes_no_argument(kind: str) -> None:
    """Guards results that are arguments: executors gave the very object, or NumPy's memory behind it."""
    x = relay.var("x", shape=(3,))
    run_it = relay.create_executor(
        kind, tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([x, x + x])))
    ).evaluate()
    for given in (tvm.nd.array(np.ones(3, "float32")), np.ones(3, "float32")):
        first, second = run_it(given)
        first.copyfrom(np.zeros(3, "float32"))
        second.copyfrom(np.zeros(3, "float32"))
        assert np.asarray(given if isinstance(given, np.ndarray) else given.numpy()).all()


def test_writing_into_a_result_of_the_machine_changes_no_argument() -> None:
    x = relay.var("x", shape=(3,))
    machine = relay.vm.VirtualMachine(relay.vm.compile(relay.Function([x], x), "llvm"), tvm.cpu())
    given = tvm.nd.array(np.ones(3, "float32"))
    machine.run(given).copyfrom(np.zeros(3, "float32"))
    machine.run(x=given).copyfrom(np.zeros(3, "float32"))
    machine.set_input("main", given)
    machine.run().copyfrom(np.zeros(3, "float32"))
    assert given.numpy().all()


@pytest.mark.rule("RELAY-EXEC-4")
@pytest.mark.parametrize("kind", ["debug", "vm", "graph", "aot"])
def test_free_variables_of_functions_are_bound(kind: str) -> None:
    """`binds` was forgotten where the expression is a function."""
    x, y, z = (relay.var(name, "float32") for name in "xyz")
    run_it = relay.create_executor(kind).evaluate(
        relay.Function([x], x + y * z), {y: np.float32(3), z: relay.const(2.0)}
    )
    assert float(run_it(np.float32(1)).numpy()) == 7


@pytest.mark.rule("RELAY-EXEC-4", rejects=True)
@pytest.mark.parametrize("kind", ["debug", "vm", "graph", "aot"])
def test_an_argument_is_given_once(kind: str) -> None:
    """That by name was forgotten."""
    x, y = relay.var("x", "float32"), relay.var("y", "float32")
    run_it = relay.create_executor(kind, tvm.IRModule.from_expr(relay.Function([x, y], x + y))).evaluate()
    assert "given twice" in str(error_of(lambda: run_it(np.float32(1), np.float32(2), y=np.float32(3))))


@pytest.mark.rule("RELAY-EXEC-1")
@pytest.mark.parametrize("kind", ["debug", "graph"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_means_of_integers(kind: str, dtype: str) -> None:
    """Kernels summed in the dtype of the elements, whose mean came out as another number; none have the mean 0."""
    top = np.iinfo(dtype).max // (4 if dtype == "int64" else 1)
    data = np.array([[top, top, top - 4], [-7 if dtype[0] == "i" else 7, 2, 3]], dtype)
    wanted = [sum(map(int, row)) // 3 if sum(map(int, row)) > 0 else -(-sum(map(int, row)) // 3) for row in data]
    x, none = relay.var("x", shape=(2, 3), dtype=dtype), relay.var("none", shape=(0,), dtype=dtype)
    run_it = relay.create_executor(
        kind, tvm.IRModule.from_expr(relay.Function([x, none], relay.Tuple([relay.mean(x, 1), relay.mean(none)])))
    ).evaluate()
    means, empty = run_it(data, np.zeros(0, dtype))
    assert means.numpy().tolist() == wanted
    assert empty.numpy() == 0


ODD = {
    "means of windows": (lambda x: relay.nn.avg_pool2d(x, (2, 2)), (1, 2, 3, 3), "int8"),
    "means of whole images": (lambda x: relay.nn.global_avg_pool2d(x), (1, 2, 3, 3), "uint8"),
    "a float behind the end": (
        lambda x: relay.sequence_mask(x, relay.const(np.int32([1, 2])), 7.0, axis=1),
        (2, 3),
        "int32",
    ),
    "weights without rows": (lambda x: relay.nn.dense(x, relay.ones_like(x)), (0, 3), "bfloat16"),
}


@pytest.mark.rule("RELAY-EXEC-1")
@pytest.mark.parametrize("name", ODD)
def test_operators_on_odd_inputs(name: str) -> None:
    """Kernels summed windows in 8 bits, had two dtypes in one select, and packed weights into no blocks."""
    build, shape, dtype = ODD[name]
    x = relay.var("x", shape=shape, dtype=dtype)
    module = tvm.IRModule.from_expr(relay.Function([x], build(x)))
    given = (np.arange(np.prod(shape)).reshape(shape) * 7 % 120 + 5).astype(x.type_annotation.dtype.numpy)
    values = [relay.create_executor(kind, module).evaluate()(given).numpy() for kind in ("debug", "graph")]
    np.testing.assert_array_equal(values[0].astype("float64"), values[1].astype("float64"))


@pytest.mark.parametrize("given", [(1,), (1, 2), ((1, 2), 3), (2.5, (1, 2)), (1, (np.ones(2, "int32"), 2))])
def test_arguments_that_are_no_such_tuples(given: Any) -> None:
    """The interpreter looked at tensors only, and took the first of what it was given for the first it needed."""
    module = read_module("def @main(%x: (int32, (int32, int32))) { %x.0 }")
    for kind in ("debug", "vm"):
        run_it = relay.create_executor(kind, module).evaluate()
        assert run_it((1, (2, 3))).numpy() == 1
        assert error_of(lambda run_it=run_it: run_it(given)).code == "value-mismatch"  # type: ignore[misc]


def test_sizes_that_no_tensor_has() -> None:
    """Guards operators that the machine computes by their references: NumPy's errors came through."""
    module = read_module("def @main(%x: Tensor[(?, ?), float32], %s: Tensor[(1), int64]) { dyn.squeeze(%x, %s) }")
    error = error_of(lambda: relay.create_executor("vm", module).evaluate()(np.ones((2, 3), "float32"), np.array([1])))
    assert error.code == "operator-run"
    assert "dyn.squeeze" in str(error)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "text",
    [
        "nn.dense(%x, %x)",
        "%x * %x",
        "mean(%e)",
        "variance(%e)",
        "std(%e, unbiased=True)",
        "variance(%e, unbiased=True)",
    ],
)
def test_floats_overflow_without_a_word(text: str) -> None:
    """NumPy's warnings were shown, and where they are errors a pass failed on them."""
    function = read(f"fn (%x: Tensor[(1, 2), float32], %e: Tensor[(0, 2), float32]) {{ {text} }}")
    found = Interpreter().evaluate(function)(np.full((1, 2), 1e38, "f"), np.ones((0, 2), "f"))
    assert not np.isfinite(found.data).any() or (found.data == 0).all()
