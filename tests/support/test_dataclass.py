"""Classes whose methods are written late are dataclasses like the standard library's."""

from __future__ import annotations

import copy
import inspect
import re
from dataclasses import FrozenInstanceError, field, fields, replace
from pathlib import Path

import pytest

import baton
from baton._src.support.dataclass import Later, dataclass


@dataclass(frozen=True)
class Base:
    a: int
    b: list[int] = field(default_factory=list, compare=False)


@dataclass(frozen=True, slots=True)
class Slotted(Base):
    c: str = "c"
    made: int = field(init=False, repr=False, default=7)
    last: float = field(default=0.5, kw_only=True)

    def __post_init__(self) -> None:
        assert self.a >= 0, "fields are set before this runs"


@dataclass
class Open:
    a: int = 1


def test_all_dataclasses_of_baton_are_declared_by_it() -> None:
    sources = Path(baton.__file__).parent.rglob("*.py")
    standard = re.compile(r"^from dataclasses import .*\bdataclass\b|^ *@dataclasses", re.MULTILINE)
    assert [str(path) for path in sources if standard.search(path.read_text(encoding="utf-8"))] == []


def test_a_constructor_is_written_when_it_is_first_asked_for() -> None:
    @dataclass
    class Fresh:
        a: int

    assert isinstance(vars(Fresh)["__init__"], Later)
    assert Fresh(3).a == 3
    assert inspect.isfunction(vars(Fresh)["__init__"])


def test_constructors_take_what_the_fields_say() -> None:
    made = Slotted(1, c="x", last=2.0)
    assert (made.a, made.b, made.c, made.made, made.last) == (1, [], "x", 7, 2.0)
    assert made.b is not Slotted(1).b
    assert (
        str(inspect.signature(Slotted))
        == "(a: 'int', b: 'list[int]' = <factory>, c: 'str' = 'c', *, last: 'float' = 0.5) -> None"
    )
    with pytest.raises(TypeError, match=r"Slotted.__init__\(\) missing 1 required positional argument: 'a'"):
        Slotted()  # type: ignore[call-arg]


def test_values_are_compared_hashed_shown_copied_and_replaced() -> None:
    one = Slotted(1, [1])
    assert one == Slotted(1, [2])
    assert hash(one) == hash(Slotted(1))
    assert one != Base(1)
    assert repr(one) == "Slotted(a=1, b=[1], c='c', last=0.5)"
    assert replace(one, c="d").c == "d"
    assert copy.deepcopy(one) == copy.copy(one) == one
    assert [f.name for f in fields(one)] == ["a", "b", "c", "made", "last"]


def test_frozen_fields_stay_and_others_can_be_set() -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        Base(1).a = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'a'"):
        del Base(1).a
    changed = Open()
    changed.a = 5
    assert changed == Open(5)
    with pytest.raises(TypeError, match="unhashable"):
        hash(changed)
