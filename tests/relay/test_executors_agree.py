"""Random programs have one value, interpreted and compiled, at every level; and calls go as deep as memory allows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton._src.driver.relay.executors import create_executor
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.transform.context import PassContext
from tests.relay.programs import plain, read_module
from tests.relay.strategies import modules

wire()


def same(left: object, right: object) -> bool:
    """Equal constructors and tuples, numbers up to rounding."""
    if isinstance(left, tuple):
        return isinstance(right, tuple) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, str):
        return left == right
    return bool(np.allclose(left, right, rtol=1e-4, atol=1e-4, equal_nan=True))


@pytest.mark.rule("RELAY-EXEC-1")
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(modules(), st.sampled_from([0, 2, 3]))
def test_random_programs(module: IRModule, level: int) -> None:
    arguments = (True, np.float32([1, -2]), np.float32([0.5, 3]))
    with np.errstate(all="ignore"), warnings.catch_warnings(), PassContext(opt_level=level):
        warnings.simplefilter("ignore")
        values = [plain(create_executor(kind, module).evaluate()(*arguments)) for kind in ("debug", "vm")]
    assert same(*values)


LOOP = "def @main(%n: int32, %a: int32) -> int32 { if (%n == 0) { %a } else { @main(%n - 1, %a + 2) } }"
NESTED = "def @main(%n: int32, %a: int32) -> int32 { if (%n == 0) { %a } else { 2 + @main(%n - 1, %a) } }"


@pytest.mark.rule("RELAY-EXEC-1")
@pytest.mark.parametrize(
    ("kind", "depth"), [("debug", 20_000), ("vm", 100_000), pytest.param("debug", 100_000, marks=pytest.mark.fuzz)]
)
def test_nested_calls(kind: str, depth: int) -> None:
    """Guards calls inside one another far beyond Python's stack; the interpreter's 100,000 take long."""
    assert plain(create_executor(kind, read_module(NESTED)).evaluate()(depth, 0)) == 2 * depth


DATA = """
type Nat { Z, S(Nat) }
def @make(%n: int32, %a: Nat) -> Nat { if (%n == 0) { %a } else { @make(%n - 1, S(%a)) } }
def @count(%x: Nat, %a: int32) -> int32 { match (%x) { Z => %a, S(%y) => @count(%y, %a + 2) } }
def @main(%n: int32, %a: int32) -> int32 { @count(@make(%n, Z), %a) }
"""
CELL = """
def @loop(%n: int32, %r: ref(int32)) -> int32 {
  if (%n == 0) { ref_read(%r) } else { ref_write(%r, ref_read(%r) + 2); @loop(%n - 1, %r) }
}
def @main(%n: int32, %a: int32) -> int32 { @loop(%n, ref(%a)) }
"""
FUNCTIONS = """
def @loop(%n: int32, %k: fn(int32) -> int32) -> int32 {
  if (%n == 0) { %k(0) } else { @loop(%n - 1, fn (%x: int32) -> int32 { %k(%x + 2) }) }
}
def @main(%n: int32, %a: int32) -> int32 { @loop(%n, fn (%x: int32) -> int32 { %x + %a }) }
"""
DEEP = {"tensors": LOOP, "data": DATA, "references": CELL, "functions": FUNCTIONS}


@pytest.mark.rule("RELAY-EXEC-1")
@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_tail_calls(name: str, kind: str) -> None:
    """Guards loops of what only the machine can hold: data, references, functions; beyond Python's stack."""
    assert plain(create_executor(kind, read_module(DEEP[name])).evaluate()(5_000, 0)) == 10_000


@pytest.mark.fuzz
@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_a_million_tail_calls(name: str, kind: str) -> None:
    """The same, as long as is promised: half a minute each."""
    assert plain(create_executor(kind, read_module(DEEP[name])).evaluate()(1_000_000, 0)) == 2_000_000


POLYMORPHIC = {
    "value in tuple": """
def @main(%n: int32) { let %f = fn<t>(%x: t) -> t { %x }; let %p = (%f, %n); (%p.0(1), %p.0(2f)) }
""",
    "as arg declared": """
def @ap(%f: fn<a>(a) -> a, %n: int32) -> (int32, float32) { (%f(%n), %f(2f)) }
def @main(%n: int32) { @ap(fn<a>(%x: a) -> a { %x }, %n) }
""",
    "global as arg": """
def @id<a>(%x: a) -> a { %x }
def @ap(%f: fn<a>(a) -> a, %n: int32) -> (int32, float32) { (%f(%n), %f(2f)) }
def @main(%n: int32) { @ap(@id, %n) }
""",
    "returned": """
def @mk(%n: int32) -> fn<a>(a) -> (a, int32) { fn<a>(%x: a) -> (a, int32) { (%x, %n) } }
def @main(%n: int32) { let %f = @mk(%n); (%f(1), %f(True)) }
""",
    "in ADT": """
type Box { B(fn<a>(a) -> a) }
def @main(%n: int32) { match (B(fn<a>(%x: a) -> a { %x })) { B(%f) => (%f(%n), %f(2f)) } }
""",
    "if": """
def @main(%c: bool) {
  let %f = if (%c) { fn<a>(%x: a) -> (a, a) { (%x, %x) } } else { fn<a>(%x: a) -> (a, a) { let %y = %x; (%y, %x) } };
  (%f(1), %f(2f))
}
""",
    "ref": """
def @main(%n: int32) { let %r = ref(fn<a>(%x: a) -> a { %x }); let %g = ref_read(%r); (%g(1), %g(2f)) }
""",
    "list fn": """
type List[A] { Cons(A, List[A]), Nil }
def @len<a>(%x: List[a]) -> int32 { match (%x) { Cons(_, %r) => 1 + @len(%r), Nil => 0 } }
def @ap(%f: fn<a>(List[a]) -> int32) -> int32 { %f(Cons(1, Nil)) + %f(Cons(2f, Cons(3f, Nil))) }
def @main(%n: int32) { @ap(@len) }
""",
}
"""Functions with declared type parameters as values: in tuples, as arguments, returned, in data, chosen by an if."""


@pytest.mark.rule("RELAY-EXEC-1")
@pytest.mark.parametrize("name", POLYMORPHIC)
def test_polymorphic_values(name: str) -> None:
    """Each is called with two types; which copy runs is decided at run time."""
    module = read_module(POLYMORPHIC[name])
    argument = np.array(True) if "%c" in POLYMORPHIC[name] else np.array(3, "int32")
    first, second = (plain(create_executor(kind, module).evaluate()(argument)) for kind in ("debug", "vm"))
    assert same(first, second)
