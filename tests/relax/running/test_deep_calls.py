"""Calls exhaust no stack: tail calls leave no frame behind, nested ones keep theirs on the heap, in every machine."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.relax.interpreter import Interpreter
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.values.packed_func import FunctionTable
from tests.relax.build import module
from tests.relax.machines import table

PROGRAM = """
@R.function(pure=False)
def tail(n: R.Object) -> R.Object:
    done = R.call_packed("test.zero", n, sinfo_args=R.Tensor((), "bool"))
    if done:
        y = n
    else:
        y = cls.tail(R.call_packed("test.less", n, sinfo_args=R.Object))
    return y

@R.function(pure=False)
def even(n: R.Object) -> R.Object:
    done = R.call_packed("test.zero", n, sinfo_args=R.Tensor((), "bool"))
    if done:
        y = R.str("even")
    else:
        y = cls.odd(R.call_packed("test.less", n, sinfo_args=R.Object))
    return y

@R.function(pure=False)
def odd(n: R.Object) -> R.Object:
    done = R.call_packed("test.zero", n, sinfo_args=R.Tensor((), "bool"))
    if done:
        y = R.str("odd")
    else:
        y = cls.even(R.call_packed("test.less", n, sinfo_args=R.Object))
    return y

@R.function(pure=False)
def nested(n: R.Object) -> R.Object:
    done = R.call_packed("test.zero", n, sinfo_args=R.Tensor((), "bool"))
    if done:
        y = n
    else:
        rest = cls.nested(R.call_packed("test.less", n, sinfo_args=R.Object))
        y = R.call_packed("test.more", rest, sinfo_args=R.Object)
    return y
"""
NUMBERS: dict[str, Any] = {"less": lambda n: n - 1, "more": lambda n: n + 1, "zero": lambda n: np.array(n == 0)}


def open_frames() -> int:
    """How many callers the machine that calls this has put aside."""
    caller = sys._getframe(1)
    while "frames" not in caller.f_locals:
        assert caller.f_back is not None
        caller = caller.f_back
    return len(caller.f_locals["frames"])


def functions() -> FunctionTable:
    return table(**NUMBERS)


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_hundred_thousand_nested_calls(mode: str) -> None:
    """Guards the machine's frames: Python's stack would end at a thousand, the system's at some ten thousand."""
    machine = VirtualMachine(relax_build(module(PROGRAM), exec_mode=mode), functions=functions())
    assert machine["nested"](100_000) == 100_000


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
@pytest.mark.parametrize("entry", ["tail", "even"])
def test_tail_calls_leave_no_frame(mode: str, entry: str) -> None:
    """Guards that a million tail calls need what two need: the machine's frames are counted on the way."""
    depths: set[int] = set()

    def less(n: int) -> int:
        depths.add(open_frames())
        return n - 1

    machine = VirtualMachine(relax_build(module(PROGRAM), exec_mode=mode), functions=table(**{**NUMBERS, "less": less}))
    assert machine[entry](10_000) == (0 if entry == "tail" else "even")
    assert max(depths) <= 2


def test_the_interpreter_nests_as_deep() -> None:
    """Guards the oracle's own stack."""
    interpreter = Interpreter(module(PROGRAM), functions())
    assert interpreter["nested"](5_000) == 5_000
    assert interpreter["even"](20_001) == "odd"
