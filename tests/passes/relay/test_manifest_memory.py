"""ManifestAlloc and ManifestLifetimes: memory said by the program. The debug interpreter does what it says (memory that
was not written, or was killed, holds nonsense), compiled code takes it back into values; both give equal results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings

from baton import relax, relay
from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order
from baton._src.ir.types import Constructor
from baton._src.passes.relay.forms.to_a_normal_form import ToANormalForm
from baton._src.passes.relay.fuse_ops import FuseOps
from baton._src.passes.relay.memory.dissolve_memory import DissolveMemory
from baton._src.passes.relay.memory.manifest_alloc import ManifestAlloc
from baton._src.passes.relay.memory.manifest_lifetimes import ManifestLifetimes
from baton._src.relay.analysis import free_vars, well_formed
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.check.show import show_type
from baton._src.relay.expressions import walk
from baton._src.relay.memory_calls import is_memory_call
from baton._src.relay.nodes import Call, Function
from baton._src.relay.text.printer import astext
from baton._src.support.diagnostics import DiagnosticError
from tests.passes.relay.test_values_stay import same, value
from tests.properties.relay.agreement import interpreted
from tests.relay.programs import plain, read_module
from tests.relay.random_programs import whole_modules
from tests.relay.strategies import modules

X = np.arange(6, dtype="float32").reshape(2, 3)
PROGRAMS = {
    "chain": ("def @main(%x: Tensor[(2, 3), float32]) { exp(%x) * 2f + %x }", [X]),
    "tuples": (
        "def @main(%x: Tensor[(2, 3), float32]) { let %y = split(%x, indices_or_sections=3, axis=1); "
        "(concatenate(%y, axis=0), (%y.1 + %y.2, 3)) }",
        [X],
    ),
    "views": (
        "def @main(%x: Tensor[(2, 3), float32]) { let %y = exp(%x); let %z = reshape(%y, newshape=[3, 2]); "
        "let %w = %x + 1f; let %v = %w + 2f; (expand_dims(%z, axis=0), %v) }",
        [X],
    ),
    "shapes unknown": (
        "def @main(%x: Tensor[(?, 3), float32], %w: Tensor[(4, 3), float32]) { "
        "nn.relu(nn.dense(concatenate((%x, exp(%x)), axis=0), %w)) }",
        [X, np.ones((4, 3), "float32")],
    ),
    "shapes decided by elements": (
        "def @main(%c: Tensor[(?), bool], %n: Tensor[(2), int64]) { "
        '(argwhere(%c), dyn.reshape(cast(%c, dtype="int32"), %n)) }',
        [np.array([True, False, True, True]), np.array([2, 2])],
    ),
    "a view of unknown shape": ("def @main(%x: Tensor[(?, 3), float32]) { reshape(%x * 2f, newshape=[-1]) }", [X]),
    "symbolic dims": ("def @main(%x: Tensor[(n, 3), float32]) -> Tensor[(n, 3), float32] { %x + %x }", [X]),
    "branches": (
        "def @main(%x: Tensor[(2, 3), float32], %c: bool) { let %y = exp(%x); "
        "let %z = if (%c) { let %u = %y + 1f; %u * %y } else { %y }; %z - %x }",
        [X, True],
    ),
    "closures": (
        "def @main(%x: Tensor[(2, 3), float32]) { let %y = exp(%x); let %f = fn (%a: Tensor[(2, 3), float32]) "
        "{ %a * %y }; let %u = %x + 3f; let %v = %f(%u); %f(%v) + %u }",
        [X],
    ),
    "recursion": (
        "def @down(%n: int32, %x: float32) -> float32 { if (%n == 0) { %x } else { @down(%n - 1, %x * 2f) } } "
        "def @main() { @down(5, 1f) + 1f }",
        [],
    ),
    "references": (
        "def @main(%x: float32) { let %r = ref(%x + 1f); let %u = ref_write(%r, ref_read(%r) * 3f); "
        "let %v = %x + 7f; ref_read(%r) + %v }",
        [np.float32(2)],
    ),
    "lists": (
        "type L { C(float32, L), N } "
        "def @sum(%l: L) -> float32 { match (%l) { C(%h, %t) => %h + @sum(%t), N => 0f, } } "
        "def @main(%x: float32) { @sum(C(%x + 1f, C(%x * 2f, N))) }",
        [np.float32(2)],
    ),
}


def _both(module: IRModule) -> list[IRModule]:
    allocated = ManifestAlloc()(module)
    return [allocated, ManifestLifetimes()(allocated)]


def _calls(module: IRModule, *names: str) -> list[Call]:
    found = [n for f in module.functions.values() for n in walk(f)]
    return [n for n in found if is_memory_call(n, *names)]


def _check_types(module: IRModule) -> None:
    """The types that the passes wrote are those that inference finds."""
    for function in module.functions.values():
        nodes = [n for n in walk(function) if not isinstance(n, Op | GlobalVar | Constructor)]
        written = [n.checked_type for n in nodes]
        infer_type(module.with_functions({**module.functions, _name(module, function): function.copy()}))
        for node, type_ in zip(nodes, written, strict=True):
            assert show_type(node.checked_type_) == show_type(type_), repr(node)


def _name(module: IRModule, function: object) -> GlobalVar:
    return next(v for v, f in module.functions.items() if f is function)


def test_kernels_with_lets_and_tuples() -> None:
    """A flattened kernel shared bindings with the one that it was made from, so neither had all of them."""
    module = read_module(
        "def @main(%x: Tensor[(2, 3), float32]) { %0 = split(%x, indices_or_sections=3, axis=1); "
        "%1 = (%0.0, (%0.1, (%0.2, %x)), ()); %2 = %1.1; (concatenate((%1.0, %2.0, (%2.1).0), axis=1), %2) }"
    )
    expected = plain(relay.create_executor("debug", module).evaluate()(X))
    after = ManifestAlloc()(infer_type(ToANormalForm()(FuseOps(fuse_opt_level=2)(module))))
    assert structural_equal(after, infer_type(read_module(astext(after))))
    for kind in ("debug", "vm"):
        assert same(plain(relay.create_executor(kind, after).evaluate()(X)), expected)


@pytest.mark.rule("RELAY-PASS-33")
@pytest.mark.parametrize("fused", [False, True], ids=["operators", "fused"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_stay(name: str, fused: bool) -> None:
    """In the interpreter, which frees for real, and compiled; the text reads back; both passes are idempotent."""
    text, args = PROGRAMS[name]
    module = read_module(text)
    expected = plain(relay.create_executor("debug", module).evaluate()(*args))
    if fused:
        module = FuseOps(fuse_opt_level=2)(module)
    both = _both(module)
    for after in both:  # before anything else infers types: expressions that modules share have one note
        _check_types(after)
    for after in both:
        assert _calls(after, "memory.alloc_storage")
        assert structural_equal(after, infer_type(read_module(astext(after))))
        assert structural_equal(ToANormalForm(inside_kernels=False)(after), after)
        assert same(plain(relay.create_executor("debug", after).evaluate()(*args)), expected)
        assert same(plain(relay.create_executor("vm", after).evaluate()(*args)), expected)
        assert structural_equal(ManifestAlloc()(after), after)
    assert structural_equal(ManifestLifetimes()(after), after)


def test_the_form() -> None:
    """A storage, a tensor in it, a kernel that fills it, the death of what is not needed; operators only in kernels."""
    _, after = _both(read_module("def @main(%x: Tensor[(2, 3), float32]) { exp(%x) + 1f }"))
    order = [c.op.name.partition(".")[2] for c in _calls(after)]
    one = ["alloc_storage", "alloc_tensor", "invoke_tvm_op"]
    assert order == [*one, *one, "kill", "kill"]
    kernels = [n for n in walk(after["main"]) if isinstance(n, Function) and n.attrs.get("Primitive")]
    assert len(kernels) == 2
    sizes = [int(c.args[0].data.data) for c in _calls(after, "memory.alloc_storage")]
    assert sizes == [24, 24]


def test_an_unknown_shape_is_computed_before_the_storage() -> None:
    after = ManifestAlloc()(read_module("def @main(%x: Tensor[(?, 3), float32]) { exp(%x) }"))
    names = [c.op.name for c in _calls(after)]
    assert names.index("vm.shape_of") < names.index("vm.shape_func") < names.index("vm.invoke_tvm_op")
    (shape_func,) = _calls(after, "vm.shape_func")
    assert shape_func.attrs.is_inputs == (False,)
    by_elements = ManifestAlloc()(read_module("def @main(%x: Tensor[(4), bool]) { argwhere(%x) }"))
    (shape_func,) = _calls(by_elements, "vm.shape_func")
    assert shape_func.attrs.is_inputs == (True,)


def test_what_leaves_or_is_still_held_is_not_killed() -> None:
    text = """def @main(%x: float32) {
      let %a = %x + 1f; let %b = %a * 2f; let %f = fn () { %a }; let %r = ref(%x); let %c = %x - 1f;
      let %u = ref_write(%r, %c); (%f, %b) }"""
    _, after = _both(read_module(text))
    assert not _calls(after, "memory.kill")


def test_compiled_code_begins_with_values() -> None:
    """The dialect is gone before anything is optimised: graph executors and Relax take such programs, too."""
    text = "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(exp(%x) + 1f) }"
    _, after = _both(read_module(text))
    back = DissolveMemory()(after)
    assert not _calls(back)
    assert relay.build(after, "llvm").get_lib() is not None
    for kind in ("graph", "aot"):
        np.testing.assert_allclose(relay.create_executor(kind, after).evaluate()(X).numpy(), np.exp(X) + 1, rtol=1e-6)
    assert "relax.exp" in {n.op.name for n in _operators(relax.from_relay(after))}


def _operators(module: IRModule) -> list[object]:
    return [n for f in module.functions.values() for n in post_order(f) if getattr(getattr(n, "op", None), "name", "")]


ALLOC = """
  let %k = fn (%p: Tensor[(2), float32], Primitive=1) { exp(%p) };
  let %d = (ref(%x)); let %n = shape_of(%x, dtype="int64");
  let %s = memory.alloc_storage(8i64, %n, 64i64);
  let %t = memory.alloc_tensor(%s, 0i64, %n, assert_shape=[2]);
"""


@pytest.mark.rule("RELAY-PASS-33", rejects=True)
@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("%t + 1f", "read before"),
        ("let %u = vm.invoke_tvm_op(%k, (%x,), (%x,)); %x", "did not give"),
        ("let %f = fn () { let %u = vm.invoke_tvm_op(%k, (%x,), (%t,)); %u }; let %v = %f(); %t", "another scope"),
        (
            "let %u = vm.invoke_tvm_op(%k, (%x,), (%t,)); let %r = ref(%t); "
            "let %v = vm.invoke_tvm_op(%k, (%t,), (%t,)); ref_read(%r)",
            "something else may hold",
        ),
        ("let %r = ref(%s); 1", "is a storage"),
    ],
)
def test_what_only_the_interpreter_can_run(rest: str, message: str) -> None:
    module = read_module(f"def @main(%x: Tensor[(2), float32]) {{ {ALLOC} {rest} }}")
    with pytest.raises(DiagnosticError, match=message):
        relay.create_executor("vm", module).evaluate()(np.float32([1, 2]))


def test_a_tensor_may_be_written_again() -> None:
    """As long as nothing else holds it; one storage may hold several tensors, one after another."""
    rest = """let %u = vm.invoke_tvm_op(%k, (%x,), (%t,)); let %v = vm.invoke_tvm_op(%k, (%t,), (%t,));
      let %w = %t + 1f; let %q = memory.alloc_tensor(%s, 0i64, %n, assert_shape=[2]);
      let %z = vm.invoke_tvm_op(%k, (%x,), (%q,)); (%w, %q)"""
    module = read_module(f"def @main(%x: Tensor[(2), float32]) {{ {ALLOC} {rest} }}")
    x = np.float32([0.5, 1])
    for kind in ("debug", "vm"):
        first, second = relay.create_executor(kind, module).evaluate()(x)
        np.testing.assert_allclose(first.numpy(), np.exp(np.exp(x)) + 1, rtol=1e-6)
        np.testing.assert_allclose(second.numpy(), np.exp(x), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("memory.alloc_storage(%x, %n, 64i64)", "must be a whole number"),
        ("memory.alloc_tensor(%x, 0i64, %n)", "storage must be"),
        ("memory.alloc_tensor(memory.alloc_storage(8i64, %n, 64i64), 0i64, %n, assert_shape=[1, 2])", "the shape has"),
        ("vm.invoke_tvm_op(fn (%p: float32, Primitive=1) { %p }, %x, (%x,))", "tuple of tensors"),
        ("vm.shape_func(fn (%p: float32, Primitive=1) { %p }, (%x,), (%n,))", "flags for 1 inputs"),
    ],
)
def test_types_are_checked(call: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        infer_type(read_module(f"def @main(%x: Tensor[(2), float32], %n: Tensor[(1), int64]) {{ {call} }}"))


@pytest.mark.parametrize(
    ("lets", "message"),
    [
        ("memory.alloc_tensor(memory.alloc_storage(4i64, %n, 64i64), 0i64, %n)", "does not fit"),
        ("memory.alloc_tensor(memory.alloc_storage(8i64, %n, 64i64), 0i64, %n, assert_shape=[3])", "was asserted"),
    ],
)
def test_the_interpreter_checks_memory(lets: str, message: str) -> None:
    module = read_module(f"def @main(%n: Tensor[(1), int64]) {{ {lets} }}")
    with pytest.raises(DiagnosticError, match=message):
        relay.create_executor("debug", module).evaluate()(np.array([2]))


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(modules())
def test_random_programs(module: IRModule) -> None:
    """Closures, lists, references, polymorphism; every memory cell is written before and killed after its uses."""
    module = infer_type(module)
    expected = value(module)
    both = _both(module)
    for after in both:
        _check_types(after)
    for after in both:
        note(astext(after))
        assert all(well_formed(f) and not free_vars(f) for f in after.functions.values())
        assert same(value(after), expected)
        back = DissolveMemory()(after)
        assert not _calls(back)
        assert same(value(back), expected)


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(whole_modules())
def test_random_modules(module: IRModule) -> None:
    expected = interpreted(module)
    _, after = _both(infer_type(module))
    note(astext(after))
    assert same(interpreted(after), expected)
    back = DissolveMemory()(after)
    assert same(interpreted(back), expected)


def test_tuples_flat_and_back() -> None:
    """`relay.op.memory`'s helpers for nested tuples."""
    f32 = relay.TensorType((2,), "float32")
    nested = relay.TupleType([f32, relay.TupleType([f32, f32])])
    assert relay.op.memory.flatten_tuple_type(nested) == [f32] * 3
    a, b, c = relay.op.memory.from_tuple_type(nested, relay.var("x", nested))
    assert (a.index, b.index, c.index, b.tuple_value.index) == (0, 0, 1, 1)
    back = relay.op.memory.to_tuple_type(nested, [a, b, c])
    assert back.fields[0] is a
    assert back.fields[1].fields == (b, c)
    with pytest.raises(DiagnosticError, match="3 parts"):
        relay.op.memory.to_tuple_type(nested, [a])


def test_long_chains() -> None:
    """500 operators, some 5,000 lets, go through with constant depth of the Python stack."""
    x = relay.var("x", shape=(2,))
    body = x
    for _ in range(500):
        body = relay.op.negative(body)
    _, after = _both(IRModule({"main": relay.Function([x], body)}))
    assert len(_calls(after, "memory.kill")) == 2 * 500 - 2
    assert not _calls(DissolveMemory()(after))
