"""PartialEvaluate: what is known is computed, what is left means the same, and it always ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.passes.relay.first_order.to_cps import ToCPS
from baton._src.passes.relay.gradients.gradient import gradient
from baton._src.passes.relay.gradients.higher_order_gradient import higher_order_gradient
from baton._src.passes.relay.partial_evaluation.partial_evaluate import PartialEvaluate
from baton._src.relay.expressions import walk
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Call, Function, If, Match, RefCreate, RefRead, RefWrite
from baton._src.relay.text.printer import astext
from tests.passes.relay.test_higher_order_gradient import PROGRAMS, program
from tests.passes.relay.test_to_cps import HIGHER_ORDER
from tests.relay.programs import plain, read_module

LIST = "type List[A] { Cons(A, List[A]), Nil }\n"
MAP = """def @map[A, B](%f: fn(A) -> B, %xs: List[A]) -> List[B] {
  match (%xs) { Cons(%x, %r) => Cons(%f(%x), @map(%f, %r)), Nil => Nil, }
}
"""
POWER = """def @power(%x: float32, %n: int32) -> float32 {
  if (%n == 0) { 1f } else { %x * @power(%x, %n - 1) }
}
"""


def value(module: IRModule, *args: Any) -> Any:
    return plain(Interpreter(module).evaluate(module["main"])(*args))


def nodes(module: IRModule, *classes: type) -> list[Any]:
    return [n for n in walk(module["main"].body) if isinstance(n, classes)]


def operators(module: IRModule) -> list[str]:
    return [n.op.name for n in nodes(module, Call) if isinstance(n.op, Op)]


CASES = [
    ("known recursion", POWER + "def @main(%x: float32) { @power(%x, 3) }", ["multiply"] * 3),
    ("constants", "def @main(%x: float32) { let %y = 2f * 3f; if (%y < 10f) { %x + %y } else { %x } }", ["add"]),
    ("closures", "def @main(%x: float32) { let %f = fn(%g, %y) { %g(%g(%y)) }; %f(fn(%z) { %z * %x }, %x) }", 2),
    ("tuples", "def @main(%x: float32) { let %t = (%x, (exp(%x), %x)); %t.1.1 + %t.0 }", ["add"]),
    ("data", LIST + MAP + "def @main(%x: float32) { let %xs = Cons(%x, Cons(1f, Nil));"
     " match (@map(fn(%y: float32) { %y * %x }, %xs)) {"
     " Cons(%a, Cons(%b, Nil)) => %a + %b, _ => 0f, } }", 3),
    ("references", "def @main(%x: float32) { let %r = ref(%x); ref_write(%r, ref_read(%r) * 2f); ref_read(%r) }", 1),
    ("references in closures", "def @main(%x: float32) { let %r = ref(%x); let %f = fn(%y: float32) {"
     " ref_write(%r, ref_read(%r) + %y) }; %f(%x); %f(1f); ref_read(%r) }", ["add", "add"]),
    ("functions in references", "def @main(%x: float32) { let %r = ref(fn(%y: float32) { %y + %x });"
     " let %f = ref_read(%r); ref_write(%r, fn(%y: float32) { %f(%y) * 2f }); ref_read(%r)(%x) }", ["add", "multiply"]),
]  # fmt: skip


@pytest.mark.rule("RELAY-PASS-28")
@pytest.mark.parametrize(("text", "left"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_nothing_but_operators_is_left(text: str, left: Any) -> None:
    before = read_module(text)
    after = PartialEvaluate()(before)
    assert value(before, 1.5) == pytest.approx(value(after, 1.5))
    found = operators(after)
    assert found == left if isinstance(left, list) else len(found) == left
    assert not nodes(after, Function, If, Match, RefCreate, RefRead, RefWrite)


@pytest.mark.rule("RELAY-PASS-28")
@pytest.mark.parametrize("flag", [True, False])
def test_the_whole_language(flag: bool) -> None:
    before = read_module(HIGHER_ORDER)
    for step in (PartialEvaluate(), ToCPS()):
        after = PartialEvaluate()(step(before))
        assert value(before, 1.5, flag) == value(after, 1.5, flag)


UNKNOWN = [
    "let %r = ref(%x); let %f = fn() { ref_read(%r) }; if (%c) { ref_write(%r, 5f) } else { () }; %f() + ref_read(%r)",
    "let %r = ref(%x); let %s = if (%c) { %r } else { ref(%x) }; ref_write(%s, 7f); (ref_read(%r), ref_read(%s))",
    "let %r = ref(1f); let %f = if (%c) { fn() { ref_write(%r, %x) } } else { fn() { () } }; %f(); ref_read(%r)",
    "let %r = ref(1f); let %rr = ref(%r); let %q = if (%c) { ref_read(%rr) } else { ref(2f) };"
    " ref_write(ref_read(%rr), 3f); (ref_read(%q), ref_read(%r))",
    "let %f = fn(%n: int32) -> float32 { if (%n == 0) { %x } else { %f(%n - 1) * 2f } }; %f(if (%c) { 3 } else { 1 })",
    "let %r = ref(0f); let %f = fn(%n: int32) -> () { if (%n == 0) { () } else { ref_write(%r, ref_read(%r) + %x);"
    " %f(%n - 1) } }; %f(if (%c) { 3 } else { 1 }); ref_read(%r)",
]


@pytest.mark.parametrize("body", UNKNOWN)
@pytest.mark.parametrize("flag", [True, False])
def test_what_is_not_known_is_not_guessed(body: str, flag: bool) -> None:
    before = read_module(f"def @main(%x: float32, %c: bool) {{ {body} }}")
    assert value(before, 1.5, flag) == value(PartialEvaluate()(before), 1.5, flag)


@pytest.mark.parametrize(
    "name", ["closure", "reference", "recursion", "match", "lists", "tuples", "split and concatenate"]
)
def test_gradients_become_straight_programs(name: str) -> None:
    module, function = program(PROGRAMS[name])
    made = higher_order_gradient(function, module)
    whole = module.with_functions({**module.functions, GlobalVar("main"): made})
    after = PartialEvaluate()(whole)
    assert not nodes(after, Function, If, Match, RefCreate, RefRead, RefWrite)
    found, (slope,) = value(after, 0.4)
    expected, (known,) = plain(Interpreter(whole).evaluate(made)(np.float32(0.4)))
    assert (found, slope) == pytest.approx((expected, known), rel=1e-5)


def test_gradients_through_an_unknown_branch() -> None:
    module, function = program(PROGRAMS["if"])
    whole = IRModule({"main": gradient(function, module)})
    for x in (-0.5, 0.5):
        (found, (slope,)), (expected, (known,)) = value(PartialEvaluate()(whole), x), value(whole, x)
        assert (found, slope) == pytest.approx((expected, known), rel=1e-5)


def test_it_ends() -> None:
    """An endless loop, one that is long, and one over an unknown bound."""
    forever = read_module("def @f(%n: int32) -> int32 { @f(%n + 1) } def @main() { @f(0) }")
    assert PartialEvaluate(fuel=50)(forever)
    text = "def @f(%n: int32, %s: int32) -> int32 { if (%n == 0) { %s } else { @f(%n - 1, %s + %n) } }"
    long = read_module(text + " def @main() { @f(3000, 0) }")
    assert value(PartialEvaluate(fuel=100)(long)) == 4_501_500
    assert not nodes(PartialEvaluate()(long), Call)
    unknown = read_module(text + " def @main(%n: int32) { @f(%n, 0) }")
    after = PartialEvaluate()(unknown)
    assert value(after, 10) == 55
    assert len(nodes(after, If)) == 1


@pytest.mark.parametrize("branch", [False, True])
def test_it_ends_soon(branch: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions that call the one before twice would be 2 ** 40 calls: some are left as calls, in all of them."""
    monkeypatch.setattr("baton._src.passes.relay.partial_evaluation.partial_evaluate.WORK", 2_000)
    twice = "if (%n < {i}) {{ @f{p}(%n + 1) }} else {{ @f{p}(%n - 2) }}" if branch else "@f{p}(@f{p}(%n)) - 3"
    text = "def @f0(%n: int32) -> int32 { %n * 2 }\n"
    text += "".join(f"def @f{i}(%n: int32) -> int32 {{ {twice.format(i=i, p=i - 1)} }}\n" for i in range(1, 40))
    before = read_module(text + "def @main(%n: int32) { @f39(%n) }")
    after = PartialEvaluate()(before)
    assert sum(len(walk(f)) for f in after.functions.values()) < 3_000
    few = before.with_functions({**before.functions, before.get_global_var("main"): before["f5"]})
    assert value(PartialEvaluate()(few), 3) == value(few, 3)


@pytest.mark.parametrize(
    "body",
    [
        "@size((fn(%v: List[float32]) { %v })(Nil))",
        "@size(@none<bool>(%x))",
        "(let %k = fn[T](%o: List[T], %n: int32) -> int32 { @more(%o, %n) }; %k(@none<float32>(%x), %x))",
        "@size(@map(fn(%f: fn() -> int32) { %f() }, @pick(Nil)))",
    ],
)
def test_types_that_only_unfolded_functions_told_are_written_down(body: str) -> None:
    """Found by random programs: without the parameter's annotation `Nil` is a list of anything."""
    text = (
        LIST
        + MAP
        + """def @size[A](%xs: List[A]) -> int32 { match (%xs) { Cons(_, %rest) => 1 + @size(%rest), Nil => 0 } }
def @more[A](%xs: List[A], %n: int32) -> int32 { if (%n <= 0) { @size(%xs) } else { @more(%xs, %n - 1) } }
def @none[A](%n: int32) -> List[A] { if (%n <= 0) { Nil } else { @none(%n - 1) } }
def @pick(%xs: List[fn() -> int32]) -> List[fn() -> int32] { %xs }
"""
        + f"def @main(%x: int32) -> int32 {{ 1 + {body} }}"
    )
    before = read_module(text)
    after = PartialEvaluate()(before)
    assert value(after, 2) == value(before, 2) == 1
    assert_structural_equal(after, read_module(astext(after)))
