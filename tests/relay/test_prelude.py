"""The Prelude's functions have their usual meaning."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.prelude.load import Prelude
from tests.relay.programs import error_of, run

MODULE = Prelude(CATALOGUE).module
L123 = "Cons(1, Cons(2, Cons(3, Nil)))"


def as_list(value: Any) -> list[Any]:
    found = []
    while value[0] == "Cons":
        found.append(value[1])
        value = value[2]
    return found


@pytest.mark.rule("RELAY-PRELUDE-1")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"@length({L123})", 3),
        (f"@sum({L123})", 6),
        (f"@foldl(fn(%a, %b) {{ %a - %b }}, 10, {L123})", 4),
        (f"@foldr(fn(%a, %b) {{ %a - %b }}, 10, {L123})", -8),
        (f"@foldr1(fn(%a, %b) {{ %a - %b }}, {L123})", 2),
        (f"@nth({L123}, 2)", 3),
        (f"@hd({L123})", 1),
        ("@size(Rose(1, Cons(Rose(2, Nil), Cons(Rose(3, Nil), Nil))))", 3),
        ("@compose(fn(%x) { %x + 1 }, fn(%x) { %x * 2 })(3)", 7),
        ("@flip(fn(%a, %b) { %a - %b })(1, 5)", 4),
        ("@id(2)", 2),
    ],
)
def test_numbers(text: str, wanted: object) -> None:
    assert run(text, module=MODULE) == wanted


@pytest.mark.rule("RELAY-PRELUDE-1")
@pytest.mark.rule("RELAY-PRELUDE-3")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"@map(fn(%x) {{ %x + 1 }}, {L123})", [2, 3, 4]),
        (f"@filter(fn(%x) {{ %x > 1 }}, {L123})", [2, 3]),
        (f"@zip({L123}, Cons(True, Cons(False, Nil)))", [(1, True), (2, False)]),
        (f"@rev({L123})", [3, 2, 1]),
        (f"@concat({L123}, {L123})", [1, 2, 3, 1, 2, 3]),
        (f"@update({L123}, 1, 7)", [1, 7, 3]),
        (f"@tl({L123})", [2, 3]),
        ("@unfoldr(fn(%n) { if (%n > 3) { None } else { Some((%n + 1, %n)) } }, 1)", [1, 2, 3]),
        ("@unfoldl(fn(%n) { if (%n > 3) { None } else { Some((%n + 1, %n)) } }, 1)", [3, 2, 1]),
    ],
)
def test_lists(text: str, wanted: object) -> None:
    assert as_list(run(text, module=MODULE)) == wanted


@pytest.mark.rule("RELAY-PRELUDE-1", rejects=True)
def test_the_head_of_nothing() -> None:
    error = error_of(lambda: run("@hd(Nil<int32>())", module=MODULE))
    assert error.code == "match-failed"
    assert "Nil" in str(error)
    assert "prelude.rly" in str(error)


@pytest.mark.rule("RELAY-PRELUDE-2")
def test_accumulating_maps() -> None:
    step = "fn(%a, %x) { (%a + %x, %a + %x) }"
    left = run(f"@map_accuml({step}, 0, {L123})", module=MODULE)
    right = run(f"@map_accumr({step}, 0, {L123})", module=MODULE)
    assert (left[0], as_list(left[1])) == (6, [6, 3, 1])
    assert (right[0], as_list(right[1])) == (6, [6, 5, 3])


@pytest.mark.rule("RELAY-PRELUDE-3")
def test_iterate() -> None:
    assert run("@iterate(fn(%x) { %x * 2 }, 3)(1)", module=MODULE) == 8


def test_natural_numbers() -> None:
    assert run("@nat_add(succ(zero), @nat_double(succ(zero)))", module=MODULE) == (
        "succ",
        ("succ", ("succ", ("zero",))),
    )
    assert run(f"@nat_nth({L123}, succ(succ(zero)))", module=MODULE) == 3


def test_importing_twice_changes_nothing() -> None:
    assert Prelude(CATALOGUE, MODULE).module is MODULE
    assert Prelude(CATALOGUE).get_ctor("List", "Cons").name_hint == "Cons"
