"""Typed Relay as Relax: well-formed, with the types Relay inferred, one binding a node in the scope it belongs to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from baton._src.driver.relay.executors import create_executor
from baton._src.ir.module import IRModule
from baton._src.lower.relay_to_relax.module import lower
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relax import nodes as rx
from baton._src.relax.interpreter import Interpreter as Relax
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.relax.well_formed import well_formed
from baton._src.relay.interpreter import Interpreter as Relay
from baton._src.relay.nodes import Call, Function, Let, TupleGetItem, Var, var
from baton._src.runtime.vm.builtins.table import BUILTINS
from baton._src.values.packed_func import FunctionTable
from baton._src.values.tensor import array
from tests.relay.programs import error_of, plain, read_module, same
from tests.relay.strategies import modules


def lowered(text: str) -> IRModule:
    found = lower(read_module(text))
    assert [d.render() for d in well_formed(found)] == []
    return found


def bindings(body: Any) -> list[Any]:
    return [b for block in body.blocks for b in block.bindings]


def shape_of(info: Any) -> list[int]:
    assert isinstance(info, TensorStructInfo)
    return [d.value for d in info.shape.values]


@given(modules())
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_random_programs_are_well_formed(module: IRModule) -> None:
    assert [d.render() for d in well_formed(lower(module))] == []


def builtins() -> FunctionTable:
    """The machine's builtins as packed functions."""
    table = FunctionTable()
    for name, function in BUILTINS.items():
        table.register(name, function)
    return table


@given(modules())
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_random_programs_compute_the_same(module: IRModule) -> None:
    """Relay's interpreter before, Relax's after; neither knows of the other."""
    relax = lower(module)
    for flag in (True, False):
        args = (array(flag), array([1.0, -2.0], dtype="float32"), array([0.5, 3.0], dtype="float32"))
        with np.errstate(all="ignore"):
            wanted = Relay(module).evaluate(module["main"])(*args)
            found = Relax(relax, builtins()).run("main", *args)
        assert same(plain(wanted), plain(found))


@pytest.mark.rule("RELAY-BUILD-3")
@pytest.mark.rule("RELAY-BUILD-4")
def test_the_network_of_seed_003() -> None:
    """conv + batch norm + relu, the weights' types inferred."""

    def op(name: str, *args: Any, **attrs: Any) -> Call:
        found = CATALOGUE.relay(name)
        return Call(found, args, found.definition.attrs(**attrs) if attrs else None)

    data, weight = var("data", shape=(1, 3, 224, 224)), var("graph_conv_weight")
    statistics = [var(f"graph_bn_{n}") for n in ("gamma", "beta", "moving_mean", "moving_var")]
    conv = op("nn.conv2d", data, weight, strides=(2, 2), padding=(1, 1), channels=32, kernel_size=(3, 3))
    norm = op("nn.batch_norm", conv, *statistics, epsilon=1e-5)
    relu = op("nn.relu", TupleGetItem(norm, 0))
    found = lower(IRModule({"main": Function([data, weight, *statistics], relu)}))
    assert [d.render() for d in well_formed(found)] == []
    main = found["main"]
    assert [p.name_hint for p in main.params] == [data.name_hint, weight.name_hint, *(s.name_hint for s in statistics)]
    assert [shape_of(p.struct_info) for p in main.params[1:3]] == [[32, 3, 3, 3], [32]]
    assert shape_of(main.ret_struct_info) == [1, 32, 112, 112]


@pytest.mark.rule("RELAY-BUILD-3", rejects=True)
def test_an_undetermined_entry() -> None:
    error = error_of(lambda: lower(read_module("def @main(%x) { exp(%x) }")))
    assert error.code == "relay-infer"
    assert "polymorphic" in str(error)


@pytest.mark.rule("RELAY-LET-7")
def test_shared_values_stand_before_the_branch() -> None:
    text = "def @main(%c: bool, %x: float32) {\n %1 = log(%x)\n if (%c) { %1 } else { %1 + exp(%x) } }"
    first, second = bindings(lowered(text)["main"].body)
    assert first.value.op.name == "relax.log"
    assert isinstance(second.value, rx.If)
    assert [b.value.op.name for b in bindings(second.value.false_branch)] == ["relax.exp", "relax.add"]
    assert bindings(second.value.true_branch) == []


def test_what_a_branch_of_a_function_called_in_place_shares_stands_before_it() -> None:
    """The function is written out where it is called; its branch bound the value, and the tuple did not see it."""
    text = """def @main(%c: bool, %x: float32) {
        %1 = log(%x);
        %2 = fn(%y: float32) { if (%c) { %1 } else { %y } };
        (%2(%x), %1)
    }"""
    first, second, _ = bindings(lowered(text)["main"].body)
    assert first.value.op.name == "relax.log"
    assert isinstance(second.value, rx.If)


def test_recursive_closures() -> None:
    text = """def @main(%n: int32) {
        let %f = fn(%i: int32) -> int32 { if (%i == 0) { 0 } else { %f(%i - 1) } };
        %f(%n)
    }"""
    closure, call = bindings(lowered(text)["main"].body)
    assert isinstance(closure.value, rx.Function)
    assert call.value.op is closure.var


def test_unknown_dims_become_variables() -> None:
    text = "def @main(%x: Tensor[(?, 4), float32]) { %x + exp(%x) }"
    main = lowered(text)["main"]
    rows = main.params[0].struct_info.shape.values[0]
    assert main.body.body.struct_info.shape.values[0] is rows


def test_matches_and_references() -> None:
    text = """type List[A] { Cons(A, List[A]), Nil }
    def @hd[A](%l : List[A]) -> A { match? (%l) { Cons(%h, _) => %h } }
    def @main(%x: float32) { let %r = ref(%x); ref_write(%r, @hd(Cons(2f, Nil))); ref_read(%r) + 1f }"""
    found = lowered(text)
    assert found["main"].is_pure is False
    names = [
        b.value.op.global_symbol
        for b in bindings(found["main"].body)
        if isinstance(b, rx.VarBinding) and isinstance(getattr(b.value, "op", None), rx.ExternFunc)
    ]
    assert names == ["vm.builtin.ref_create", "vm.builtin.ref_write", "vm.builtin.ref_read"]


def test_long_let_chains() -> None:
    x = var("x", shape=(2,))
    names = [x, *(Var(f"v{i}") for i in range(5000))]
    body: Any = names[-1]
    for i in range(5000, 0, -1):
        body = Let(names[i], Call(CATALOGUE.relay("add"), (names[i - 1], names[i - 1])), body)
    found = lower(IRModule({"main": Function([x], body)}))
    assert len(bindings(found["main"].body)) == 5000


GROUPS = {
    "shared": "%0 = fn (%p: Tensor[(?, 3), float32], Primitive=1) { exp(nn.relu(%p)) }; %0(%0(%x))",
    "bound": "let %f = fn (%p: Tensor[(?, 3), float32], Primitive=1) { exp(nn.relu(%p)) }; %f(%f(%x))",
    "tuples": "let %f = fn (%p: (Tensor[(?, 3), float32], int32), Primitive=1) { (exp(%p.0), %p.1) }; %f(%f((%x, 2)))",
    "stored": "let %f = fn (%p: Tensor[(?, 3), float32], Primitive=1) { exp(%p) };"
    "match (Held(%f)) { Held(%g) => %g(%x) }",
    "global": "@group(@group(%x))",
}


@pytest.mark.rule("RELAY-PASS-22")
@pytest.mark.parametrize("name", GROUPS)
def test_groups_of_any_size_run(name: str) -> None:
    """Guards what FuseOps leaves behind: groups over unknown dims, and those that are values, could not be compiled."""
    module = read_module(
        "type Held { Held(fn (Tensor[(?, 3), float32]) -> Tensor[(?, 3), float32]) }"
        "def @group(%p: Tensor[(?, 3), float32], Primitive=1) -> Tensor[(?, 3), float32] { exp(nn.relu(%p)) }"
        f"def @main(%x: Tensor[(?, 3), float32]) {{ {GROUPS[name]} }}"
    )
    x = np.array([[-1, 0, 1], [0.5, -2, 0.25]], "float32")
    found, wanted = (plain(create_executor(kind, module).evaluate()(x)) for kind in ("vm", "debug"))
    assert same(found, wanted)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("nn.global_avg_pool2d(%x)", "mean"),
        ('nn.global_max_pool2d(%x, layout="NHWC")', "max"),
        ("nn.adaptive_avg_pool2d(%x, output_size=[1, 1])", "mean"),
        ("nn.adaptive_avg_pool2d(%x, output_size=[1, 2])", "nn.adaptive_avg_pool2d"),
        ('nn.global_avg_pool2d(%x, layout="NHWC", out_layout="NCHW")', "nn.global_avg_pool2d"),
        ("nn.batch_flatten(%x)", "reshape"),
    ],
)
def test_pools_of_whole_images_are_folds(call: str, name: str) -> None:
    """Rules and schedules know those, and the kernels of Relay are those of Relax."""
    text = f"def @main(%x: Tensor[(2, 3, 4, 5), float32]) {{ {call} }}"
    (binding,) = bindings(lowered(text)["main"].body)
    assert binding.value.op.name.removeprefix("relax.") == name
    module, x = read_module(text), array(np.random.default_rng(0).random((2, 3, 4, 5), "float32"))
    expected = Relay(module).global_value(module.get_global_var("main"))(x)
    assert same(plain(create_executor("vm", module).evaluate()(x)), plain(expected))
