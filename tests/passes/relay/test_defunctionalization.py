"""Defunctionalization: closures as data keep the meaning, and nothing higher-order is left."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.ir.types import Constructor
from baton._src.passes.relay.first_order.defunctionalization import Defunctionalize, defunctionalization
from baton._src.passes.relay.first_order.to_cps import ToCPS
from baton._src.passes.relay.gradients.lazy_gradient_init import LazyGradientInit
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.remove_unused_functions import RemoveUnusedFunctions
from baton._src.relay.expressions import walk
from baton._src.relay.nodes import Call, Function
from baton._src.relay.text.printer import astext
from tests.passes.relay.test_to_cps import HIGHER_ORDER, value
from tests.relay.programs import error_of, read, read_module


def is_first_order(module: IRModule) -> bool:
    """No closure, and only names are called."""
    nodes = [n for f in module.functions.values() if not f.type_params for n in walk(f.body)]
    called = (n.op for n in nodes if isinstance(n, Call))
    return not any(isinstance(n, Function) for n in nodes) and all(
        isinstance(op, (Op, GlobalVar, Constructor)) for op in called
    )


@pytest.mark.rule("RELAY-PASS-28")
@pytest.mark.parametrize("flag", [True, False])
def test_the_whole_language(flag: bool) -> None:
    before = read_module(HIGHER_ORDER)
    after = Defunctionalize()(before)
    assert value(before, 1.5, flag) == value(after, 1.5, flag)
    assert is_first_order(after)


@pytest.mark.rule("RELAY-TEXT-10")
def test_constructors_are_told_apart_and_read_back() -> None:
    """Their tags were those of other types' constructors; a printed program was not the one that was read."""
    after = Defunctionalize()(read_module(HIGHER_ORDER))
    tags = [c.tag for data in after.type_definitions.values() for c in data.constructors]
    assert len(set(tags)) == len(tags)
    assert_structural_equal(after, read_module(astext(after)))


def test_one_function_into_a_module() -> None:
    module = read_module("def @twice[A](%f: fn(A) -> A, %x: A) -> A { %f(%f(%x)) }")
    function = read("fn(%x: int32) { @twice(fn(%y: int32) { %y * %x }, @twice(fn(%y: int32) { %y + 1 }, %x)) }", module)
    made = defunctionalization(function, module)
    whole = InferType()(module.with_functions({**module.functions, GlobalVar("main"): made}))
    assert value(whole, 3) == 45
    assert is_first_order(whole)
    assert "twice" in [v.name_hint for v in module.functions]


def test_other_functions_of_the_module_stay() -> None:
    """They were rewritten in place: who called them with a function was ill-typed from then on."""
    text = """
def @twice[A](%f: fn(A) -> A, %x: A) -> A { %f(%f(%x)) }
def @plain(%x: int32) -> int32 { %x + 1 }
def @at_one(%f: fn(int32) -> int32) -> int32 { %f(1) }
def @inner(%x: int32) -> int32 { @at_one(fn(%y: int32) { %y + @plain(%x) }) }
def @calls(%x: int32) -> int32 { @inner(%x) }
def @other(%x: int32) -> int32 { @at_one(fn(%y: int32) { %y * 7 }) + %x }
def @main(%x: int32) -> int32 { @twice(fn(%y: int32) { %y * %x }, @calls(%x)) }
"""
    module = read_module(text)
    before, expected = dict(module.functions), value(module, 3)
    made = defunctionalization(module["main"], module)
    assert all(module.functions[v] is f for v, f in before.items())
    added = [v.name_hint for v in module.functions if v not in before]
    assert not any(name.startswith(("plain", "other")) for name in added)
    whole = InferType()(module.with_functions({**module.functions, module.get_global_var("main"): made}))
    assert value(whole, 3) == expected
    assert is_first_order(RemoveUnusedFunctions()(whole))
    closures = [c for data in module.type_definitions.values() for c in data.constructors]
    assert len(closures) == 2  # none of what only `other` makes


def test_constructors_and_operators_as_values() -> None:
    text = """
type Box { Full(float32) }
def @apply[A, B](%f: fn(A) -> B, %x: A) -> B { %f(%x) }
def @main(%x: float32) { (@apply(Full, %x), @apply(exp, %x), @apply(@half, %x)) }
def @half(%x: float32) -> float32 { %x / 2f }
"""
    before = read_module(text)
    after = Defunctionalize()(before)
    assert value(before, 2.0) == value(after, 2.0)
    assert is_first_order(after)


def test_a_higher_order_interface_stays_higher_order() -> None:
    function = read("fn(%f: fn(float32) -> float32) { %f(1f) }")
    assert error_of(lambda: defunctionalization(function)).code == "relay-defunctionalize"


LAZY = """
type Lazy[T] { Later(fn() -> T), Pair(Lazy[T], (Lazy[T], T)), Now(T) }
def @force[T](%l: Lazy[T]) -> T {
  match (%l) { Later(%f) => %f(), Pair(_, (Later(%g), _)) => %g(), Pair(%a, (_, _)) => @force(%a), Now(%x) => %x }
}
def @main(%x: float32, %c: bool) {
  let %zero = zeros_like(%x) + %x;
  let %l = if (%c) { Later(fn() { %zero * 2f }) } else { Now(%x) };
  (@force(%l), @force(Pair(Now(3), (Later(fn() { 4 }), 5))), @force(Now(%c)))
}
"""


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize(
    "before_it",
    [(), (LazyGradientInit(),), (ToCPS(),), (LazyGradientInit(), ToCPS()), (ToCPS(), LazyGradientInit())],
    ids=repr,
)
def test_functions_in_polymorphic_data(before_it: tuple[Any, ...], flag: bool) -> None:
    """Each instance of such a data type becomes one of its own; so what other passes put there works, too."""
    before = read_module(LAZY)
    after = before
    for step in before_it:
        after = step(after)
    after = Defunctionalize()(after)
    assert value(after, 1.5, flag) == value(before, 1.5, flag)
    assert is_first_order(after.with_functions({v: after[v] for v in after.functions if v.name_hint == "main"}))


def test_a_polymorphic_literal_that_a_graph_shares() -> None:
    before = read_module("def @main(%x: float32) { %0 = fn[T](%y: T) -> T { %y }; (%0(%x), %0(3), %0(%0)(True)) }")
    after = Defunctionalize()(before)
    assert value(after, 1.5) == value(before, 1.5) == (1.5, 3, True)
    assert is_first_order(after)


def test_type_variables_that_two_functions_share_make_no_recursion() -> None:
    """ToCPS gives a function's twin its type parameters: types seemed to grow from the one to the other and back."""
    before = read_module("""
def @id[A](%x: A) -> A { %x }
def @main(%x: float32) { let %f = @id(fn (%y: float32) { %y + 1f }); let %g = @id((%x, %f)); (%g.1)(%g.0) }""")
    after = Defunctionalize()(ToCPS()(before))
    assert value(after, 1.5) == value(before, 1.5) == 2.5


def test_data_that_holds_ever_larger_types_is_refused() -> None:
    text = """
type Nest[A] { Deeper(fn() -> Nest[(A, A)]), End(A) }
def @main(%x: int32) { match (End(%x)) { End(%y) => %y, _ => 0 } }
"""
    assert error_of(lambda: Defunctionalize()(read_module(text))).code == "relay-data-type"


def test_a_type_of_the_program_is_no_function_whatever_its_name() -> None:
    text = "type FunctionTable { Entry(int32) } def @defunctionalized(%x: FunctionTable) -> int32 "
    module = read_module(text + "{ match (%x) { Entry(%v) => %v } }")
    found = defunctionalization(module["defunctionalized"], module)
    assert [v.name_hint for v in module.functions] == ["defunctionalized"]
    assert len(found.params) == 1
