"""ToCPS and un_cps: the whole language in continuation-passing style keeps its meaning."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor
from baton._src.passes.relay.first_order.to_cps import ToCPS, to_cps, un_cps
from baton._src.passes.relay.infer_type import InferType
from baton._src.relay.expressions import walk
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Call, Function, Let
from tests.relay.programs import error_of, plain, read, read_module

HIGHER_ORDER = """
type List[A] { Cons(A, List[A]), Nil }
type Lazy { Later(fn() -> float32), Now(float32) }
def @map[A, B](%f: fn(A) -> B, %xs: List[A]) -> List[B] {
  match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil, }
}
def @force(%l: Lazy) -> float32 { match (%l) { Later(%f) => %f(), Now(%x) => %x, } }
def @twice(%f, %x) { %f(%f(%x)) }
def @main(%x: float32, %c: bool) {
  let %r = ref(%x);
  let %add = fn(%y: float32) { ref_write(%r, ref_read(%r) + %y); %y * %x };
  let %loop = fn(%n: int32, %a: float32) -> float32 { if (%n == 0) { %a } else { %loop(%n - 1, %add(%a) + 1f) } };
  let %z = if (%c) { %add(2f) } else { %loop(3, %x) };
  let %fs = ref(%add);
  let %l = if (%c) { Later(fn() { %add(%z) }) } else { Now(%z) };
  let %more = @twice(ref_read(%fs), @force(%l));
  (@map(%add, Cons(%more, Cons(%z, Nil))), ref_read(%r))
}
"""


def value(module: IRModule, *args: Any, name: str = "main") -> Any:
    return plain(Interpreter(module).evaluate(module[name])(*args))


def returns(function: Function) -> list[Any]:
    """The calls below `function` that are no tail calls: of what could return."""
    nodes = walk(function.body)
    tails = {n.body for n in nodes if isinstance(n, (Function, Let))} | {function.body}
    work = list(tails)
    while work:  # branches of what is in tail position
        for name in ("true_branch", "false_branch"):
            if hasattr(top := work[-1], name) and getattr(top, name) not in tails:
                tails.add(getattr(top, name))
                work.insert(0, getattr(top, name))
        for clause in getattr(work.pop(), "clauses", ()):
            tails.add(clause.rhs)
            work.append(clause.rhs)
    return [n for n in nodes if isinstance(n, Call) and not isinstance(n.op, (Op, Constructor)) and n not in tails]


@pytest.mark.rule("RELAY-PASS-28")
@pytest.mark.parametrize("flag", [True, False])
def test_the_whole_language(flag: bool) -> None:
    before = read_module(HIGHER_ORDER)
    after = ToCPS()(before)
    assert value(before, 1.5, flag) == value(after, 1.5, flag)
    for name in ("map_cps", "main_cps", "twice_cps", "force_cps"):
        assert not returns(after[name]), name  # nothing ever returns


def test_a_function_alone_and_back() -> None:
    function = read("fn(%x: float32) { let %f = fn(%y: float32) { %y * %x }; %f(%x) + %f(2f) }")
    styled = to_cps(function)
    assert len(styled.params) == 2
    plain_again = InferType()(IRModule({"main": un_cps(styled)}))
    assert value(plain_again, 3.0) == 15.0
    assert len(plain_again["main"].params) == 1


def test_called_functions_get_twins_in_the_module() -> None:
    module = read_module("def @f(%x: int32) -> int32 { %x + 1 } def @main(%x: int32) { @f(@f(%x)) }")
    made = un_cps(to_cps(module["main"], module))
    assert "f_cps" in module
    whole = InferType()(module.with_functions({**module.functions, GlobalVar("direct"): made}))
    assert value(whole, 5, name="direct") == 7


def test_tail_calls_stay_tail_calls() -> None:
    text = """def @main(%n: int32, %s: int32) -> int32 { if (%n == 0) { %s } else { @main(%n - 1, %s + %n) } }"""
    after = ToCPS()(read_module(text))
    assert value(after, 5_000, 0) == 12_502_500
    inner = [n for n in walk(after["main_cps"].body) if isinstance(n, Function)]
    assert not inner  # no continuation is made on the way


def test_long_chains_of_calls() -> None:
    lets = "".join(f"let %v{i + 1} = %f(%v{i}); " for i in range(2000))
    text = f"def @main(%v0: int32) {{ let %f = fn(%y: int32) {{ %y + 1 }}; {lets} %v2000 }}"
    assert value(ToCPS()(read_module(text)), 1) == 2001


def test_no_continuation_to_take_away() -> None:
    assert error_of(lambda: un_cps(read("fn(%x: float32) { %x }"))).code == "relay-cps"
