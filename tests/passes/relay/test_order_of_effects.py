"""Effects happen once each and in their order: before and after every pass, by the interpreter, and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import relay, transform
from baton._src.ir.module import IRModule
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.interpreter import Interpreter
from baton._src.transform.context import PassContext
from tests.passes.relay.test_values_stay import same
from tests.relay.programs import plain, read_module

T = relay.transform
TICK = "def @tick(%r: ref(float32)) -> float32 { let %o = ref_read(%r); let %u = ref_write(%r, %o + 1f); %o }\n"
PROGRAMS = {
    "a field that is left behind": """
def @main(%x: float32) {
  let %r = ref(0f);
  let %y = (@tick(%r), %x).1;
  let %z = (%y, (@tick(%r), @tick(%r)));
  (%z.0, ref_read(%r))
}""",
    "conditions": """
def @main(%x: float32) {
  let %r = ref(0f);
  let %y = if (@tick(%r) > 0f) { @tick(%r) } else { let %k = @tick(%r); @tick(%r) * 10f };
  (%y, ref_read(%r), if (@tick(%r) > 2f) { %x } else { %x + %x }, ref_read(%r))
}""",
    "two names of one reference": """
def @main(%x: float32) {
  let %r = ref(0f);
  let %s = %r;
  let %t = (%r, %s);
  let %a = ref_read(%r);
  let %u = ref_write(%t.1, 5f);
  let %f = fn(%q: ref(float32)) { let %w = ref_write(%q, ref_read(%s) * 2f); ref_read(%r) };
  (%a, ref_read(%t.0), %f(%s), ref_read(%s), %f(%t.0) - ref_read(%r), ref_read(%r) - %f(%r))
}""",
    "what is matched": """
type Maybe { Some(float32), None }
def @next(%r: ref(float32)) -> Maybe { if (@tick(%r) < 2f) { Some(@tick(%r)) } else { None } }
def @loop(%r: ref(float32), %acc: float32) -> float32 {
  match (@next(%r)) { Some(%v) => @loop(%r, %acc * 10f + %v), None => %acc }
}
def @main(%x: float32) {
  let %r = ref(0f);
  let %a = @loop(%r, 0f);
  (%a, ref_read(%r), match ((@next(%r), @tick(%r))) { (Some(_), %t) => %t, (_, %t) => %t * 100f })
}""",
    "references to references": """
def @main(%x: float32) {
  let %a = ref(1f);
  let %b = ref(2f);
  let %p = ref(%a);
  let %u = ref_write(ref_read(%p), 10f);
  let %v = ref_write(%p, %b);
  let %w = ref_write(ref_read(%p), 20f);
  let %swap = fn() { let %t = ref_read(%a); let %z = ref_write(%a, ref_read(%b)); ref_write(%b, %t) };
  let %s = %swap();
  (ref_read(%a), ref_read(%b), ref_read(ref_read(%p)))
}""",
    "counters": """
def @counter(%i: float32) { let %r = ref(%i); (fn() { @tick(%r) }, fn(%v: float32) { ref_write(%r, %v) }) }
def @main(%x: float32) {
  let %c = @counter(1f);
  let %d = @counter(100f);
  let %g = %c.0;
  let %a = %g();
  let %b = (%d.0)();
  let %u = (%c.1)(7f);
  (%a, %b, %g(), (%c.0)() * (%d.0)(), %x)
}""",
    "functions in data": """
type Steps { Step(fn(float32) -> float32, Steps), End }
def @run(%l: Steps, %v: float32) -> float32 { match (%l) { Step(%f, %t) => @run(%t, %f(%v)), End => %v } }
def @main(%x: float32) {
  let %r = ref(1f);
  let %f = fn(%v: float32) { let %u = ref_write(%r, ref_read(%r) * 2f + %v); %v + ref_read(%r) };
  let %l = Step(%f, Step(fn(%v: float32) { %v - @tick(%r) }, Step(%f, End)));
  let %unused = @run(%l, 1f);
  (@run(%l, 2f), ref_read(%r))
}""",
    "recursion": """
def @down(%n: int32, %r: ref(float32)) -> () {
  if (%n == 0) { () } else { let %a = @tick(%r); let %b = @down(%n - 1, %r); @down(%n - 1, %r) }
}
def @main(%x: float32) {
  let %r = ref(0f);
  let %d = @down(3, %r);
  let %fib = fn(%n: int32) -> int32 {
    let %t = @tick(%r);
    if (%n < 2) { %n } else { %fib(%n - 1) + %fib(%n - 2) }
  };
  (%fib(4), ref_read(%r))
}""",
    "a graph node shared with a closure": """
def @main(%x: float32) {
  let %r = ref(0f);
  %0 = @tick(%r);
  %1 = (%0, %0);
  %2 = fn() { %0 + ref_read(%r) };
  %3 = if (%1.0 > -1f) { %2() + %0 } else { %0 };
  (%3, %2(), @tick(%r), %0)
}""",
    "operands": """
def @main(%x: float32) {
  let %r = ref(1f);
  (@tick(%r) - @tick(%r) * @tick(%r), stack((@tick(%r), @tick(%r)), axis=0),
   where(@tick(%r) > 0f, @tick(%r), @tick(%r)), ref_read(%r))
}""",
    "an operator that is taken apart": """
def @main(%x: float32) {
  let %r = ref(1f);
  let %v = fn() { expand_dims(@tick(%r), axis=0) };
  let %d = reshape(%x, newshape=[1, 1]);
  (nn.batch_norm(%d, %v(), %v(), %v(), %v()).0 + ref_read(%r), nn.bias_add(%d, %v() - %v() * %v()), ref_read(%r))
}""",
    "polymorphic functions": """
def @twice[A](%f: fn(A) -> A, %v: A) -> A { %f(%f(%v)) }
def @first[A, B](%a: A, %b: B) -> A { %a }
def @main(%x: float32) {
  let %r = ref(0f);
  let %inc = fn(%v: float32) { %v + @tick(%r) };
  let %n = @twice(%inc, 1f);
  let %t = @twice(fn(%p: (float32, float32)) { (%inc(%p.0), %p.1 * 2f) }, (%n, %x));
  (@first(%t, @tick(%r)), @first(ref_read(%r), %inc(0f)), ref_read(%r))
}""",
    "arguments one by one": """
def @add(%a: float32, %b: float32, %c: float32) -> float32 { %a - %b * %c }
def @curry(%f: fn(float32, float32, float32) -> float32) {
  fn(%a: float32) { fn(%b: float32) { fn(%c: float32) { %f(%a, %b, %c) } } }
}
def @main(%x: float32) {
  let %r = ref(3f);
  let %h = @curry(@add)(@tick(%r));
  let %g = %h(@tick(%r));
  (%g(@tick(%r)), %g(@tick(%r)), %h(1f)(2f))
}""",
    "named, or returned, behind its first use": """
def @main(%x: float32) {
  let %r = ref(1f);
  %0 = ref_read(%r);
  %1 = @tick(%r);
  let %f = fn(%q: ref(float32)) { %2 = ref_read(%q); let %a = %2 + @tick(%q); let %b = %a + @tick(%q); %2 };
  let %a = maximum(%0, %x) - %1;
  let %b = %0;
  (%a, %b * 10f, %f(%r), %1)
}""",
    "a let without a use beside an effect": """
def @main(%x: float32) {
  let %r = ref(1f);
  let %a = if (%x > 0f) { let %unused = %x + 1f; @tick(%r) } else { %x };
  let %b = @tick(%r);
  (%b, %a)
}""",
}
STEPS = [
    *(T.ToANormalForm(), T.ToBasicBlockNormalForm(), T.ToGraphNormalForm(), T.EliminateCommonSubexpr()),
    *(T.DeadCodeElimination(), T.DeadCodeElimination(inline_once=True), T.FoldConstant(), T.EtaExpand(True, True)),
    *(T.LambdaLift(), T.Inline(), T.PartialEvaluate(), T.ToCPS(), T.SimplifyExpr(), T.SimplifyInference()),
    *(T.FuseOps(0), T.FuseOps(2), T.CanonicalizeOps(), T.LazyGradientInit(), T.SplitArgs(2)),
    transform.Sequential([T.FuseOps(2), T.DefuseOps()], name="FuseOps, DefuseOps"),
    transform.Sequential(
        [T.ToANormalForm(), T.DeadCodeElimination(True), T.ToGraphNormalForm(), T.FuseOps(2)], name="forms"
    ),
    transform.Sequential([T.PartialEvaluate(), T.InferType(), T.DeadCodeElimination(True)], name="evaluated"),
    transform.Sequential(
        [T.LambdaLift(), T.Inline(), T.ToBasicBlockNormalForm(), T.EtaExpand(True, True)], name="lifted"
    ),
    transform.Sequential([T.FuseOps(2), T.ToANormalForm(), T.LambdaLift(), T.ManifestAlloc()], name="memory"),
]


def value(module: IRModule) -> Any:
    return plain(Interpreter(module).evaluate(module["main"])(np.float32(3)))


@pytest.mark.rule("RELAY-IMPURE-1")
@pytest.mark.parametrize("name", PROGRAMS)
def test_passes(name: str) -> None:
    module = infer_type(read_module(TICK + PROGRAMS[name]))
    before = value(module)
    for step in STEPS:
        assert same(value(infer_type(step(module))), before), step


@pytest.mark.rule("RELAY-IMPURE-1")
@pytest.mark.parametrize("level", [0, 4])
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(name: str, level: int) -> None:
    module = infer_type(read_module(TICK + PROGRAMS[name]))
    with PassContext(opt_level=level):
        found = plain(relay.create_executor("vm", module).evaluate()(np.float32(3)))
    assert same(found, value(module))
