"""Instruments: what they see, what they may forbid, and what happens when one of them fails."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from baton._src.ir.module import IRModule
from baton._src.transform.context import PassContext, PassInfo
from baton._src.transform.instruments import (
    PassInstrument,
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    pass_instrument,
)
from baton._src.transform.passes import Pass, Sequential


@dataclass(frozen=True)
class Mark(Pass):
    """Counts in the module's attributes how often it ran."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return IRModule(attrs={"marks": module.attrs.get("marks", 0) + 1})


@dataclass(frozen=True)
class Other(Mark):
    """Another name."""


class Recorder(PassInstrument):
    """Writes down everything it is told."""

    def __init__(self, name: str, log: list[str], fails: str = "") -> None:
        self.name, self.log, self.fails = name, log, fails

    def _note(self, what: str) -> None:
        self.log.append(f"{self.name} {what}")
        if self.fails == what.split(" ")[0]:
            raise RuntimeError(what)

    def enter_pass_ctx(self) -> None:
        self._note("enter")

    def exit_pass_ctx(self) -> None:
        self._note("exit")

    def run_before_pass(self, module: IRModule, info: PassInfo) -> None:
        self._note(f"before {info.name}")

    def run_after_pass(self, module: IRModule, info: PassInfo) -> None:
        self._note(f"after {info.name}")


@pytest.mark.rule("RELAY-PASS-05")
def test_instruments_are_asked_in_order() -> None:
    log: list[str] = []
    with PassContext(instruments=[Recorder("a", log), Recorder("b", log)]):
        Mark()(IRModule())
    parts = ("enter", "before Mark", "after Mark", "exit")
    assert log == [f"{name} {part}" for part in parts for name in "ab"]


@pytest.mark.rule("RELAY-PASS-05")
def test_all_must_agree_except_on_required_passes() -> None:
    @pass_instrument
    class Veto:
        def should_run(self, module: IRModule, info: PassInfo) -> bool:
            return info.name != "Mark"

    def marks(**options: Any) -> int:
        with PassContext(instruments=[PassInstrument(), Veto()], **options):
            return int(Sequential([Mark(), Other()])(IRModule()).attrs["marks"])

    assert marks() == 1
    assert marks(required_pass=["Mark"]) == 2


@pytest.mark.rule("RELAY-PASS-05", rejects=True)
def test_failure_before_a_pass_propagates_and_the_context_exits() -> None:
    log: list[str] = []
    with pytest.raises(RuntimeError, match="before Mark"), PassContext(instruments=[Recorder("a", log, "before")]):
        Mark()(IRModule())
    assert log == ["a enter", "a before Mark", "a exit"]
    assert PassContext.current().opt_level == 2


def test_failure_on_entering_leaves_those_entered_and_drops_all() -> None:
    log: list[str] = []
    context = PassContext(instruments=[Recorder("a", log), Recorder("b", log, "enter"), Recorder("c", log)])
    with pytest.raises(RuntimeError, match="enter"), context:
        pytest.fail("entered")
    assert log == ["a enter", "b enter", "a exit"]
    assert context.instruments == []
    assert PassContext.current() is not context


def test_failure_on_leaving_skips_the_later_ones() -> None:
    log: list[str] = []
    context = PassContext(instruments=[Recorder("a", log, "exit"), Recorder("b", log)])
    with pytest.raises(RuntimeError, match="exit"), context:
        pass
    assert log == ["a enter", "b enter", "a exit"]
    assert context.instruments == []


def test_overriding_leaves_the_old_and_enters_the_new() -> None:
    log: list[str] = []
    with PassContext(instruments=[Recorder("a", log)]) as context:
        context.override_instruments([Recorder("b", log)])
    assert log == ["a enter", "a exit", "b enter", "b exit"]


def test_timing_is_a_tree() -> None:
    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        Sequential([Mark(), Sequential([Other()], name="inner")])(IRModule())
        text = timing.render()
    lines = [re.match(r"( *)(\w+): \d+us \[\d+us\] \([\d.]+%; [\d.]+%\)$", line) for line in text.split("\n")]
    assert [(len(m[1]), m[2]) for m in lines if m] == [(0, "sequential"), (2, "Mark"), (2, "inner"), (4, "Other")]


def test_printing_before_and_after() -> None:
    shown: list[str] = []
    instruments = [
        PassPrintingInstrument(["Mark"], ["Other"], shown.append),
        PrintBeforeAll(shown.append),
        PrintAfterAll(shown.append),
    ]
    with PassContext(instruments=instruments):
        Mark()(IRModule())
        Other()(IRModule())
    heads = [text.split("\n")[0] for text in shown]
    assert heads == [
        "# before Mark",
        "# before Mark",
        "# after Mark",
        "# before Other",
        "# after Other",
        "# after Other",
    ]
