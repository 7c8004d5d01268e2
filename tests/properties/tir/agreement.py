"""What must hold for every random kernel: whatever compiles, schedules, lowers or prints it leaves its meaning."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.lower.kernel_schedules.schedule import schedule
from baton._src.passes.tir.ssa import converted
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.analysis.check import check_prim_func, verify_well_formed
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton.script import from_source
from baton.transform import PassContext
from tests.codegen.native_run import HOST, OLD, run_native
from tests.passes.tir.lowering.test_random_lowering import ANYWHERE, ORDER, SETTINGS
from tests.tir.random_kernels import Kernel, random_kernel
from tests.tir.schedule.test_random_schedules import STEPS, instances, names

TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 3e-2, "bfloat16": 0.2}
"""Of a value, and of the largest one; integers are equal."""
SHAKES = 8
MOST = 20_000
"""Instances of blocks that a schedule may make: the oracle runs each."""


class Checker:
    """One kernel, and what it leaves."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.kernel: Kernel = random_kernel(seed)
        assert check_prim_func(self.kernel.func) == [], self.kernel.text
        self.wanted = self.interpreted(self.kernel.func)

    def interpreted(self, func: PrimFunc, shake: int = 0) -> list[Any]:
        arrays = self.kernel.arrays(shake)
        run_prim_func(func, arrays)
        return arrays

    def native(self, func: PrimFunc, **options: Any) -> list[Any]:
        arrays = self.kernel.arrays()
        fault = run_native(func, *arrays, **options)
        assert fault is None, f"{fault}\n{func.script()}"
        return arrays

    def hangs_on_rounding(self) -> bool:
        """Whether inputs a few roundings away leave something else."""
        outputs = slice(len(self.kernel.inputs), None)
        shaken = (self.interpreted(self.kernel.func, n)[outputs] for n in range(1, SHAKES + 1))
        return not all(agree(found, self.wanted[outputs]) for found in shaken)

    def require(self, found: list[Any], way: str, func: PrimFunc) -> None:
        if not agree(found, self.wanted) and not self.hangs_on_rounding():
            differing = [(a, b) for a, b in zip(found, self.wanted) if not agree([a], [b])]
            raise AssertionError(f"{way}: {differing}\n{func.script()}\n{self.kernel.text}")

    def check_compiled(self) -> None:
        """As its loops say, for this processor and for an old one, with and without checks of each access."""
        target, checked = self.r.choice([(HOST, False), (HOST, True), (OLD, False)])
        found = self.native(self.kernel.func, target=target, checked=checked)
        self.require(found, f"compiled for {target}, checked: {checked}", self.kernel.func)

    def check_scheduled(self) -> None:
        """As the rules make it."""
        func = schedule(self.kernel.func, HOST)
        self.require(self.interpreted(func), "scheduled", func)
        self.require(self.native(func), "scheduled and compiled", func)
        check_text(func.with_fields(body=converted(func.body, func)))  # rules emit some loops twice

    def check_steps(self) -> None:
        """By primitives drawn at random, then compiled."""
        s = Schedule(self.kernel.func, seed=self.r.randrange(2**31))
        for _ in range(16):
            before, blocks = s.func, names(s)
            if not blocks:
                return
            block = s.get_block(self.r.choice(blocks))
            try:
                if loops := s.get_loops(block):
                    self.r.choice(STEPS)(s, block, loops, self.r)
            except DiagnosticError:
                assert s.func is before, "it was refused, and yet the program is another"
                continue
            if instances(s.func) > MOST:
                s = Schedule(before, seed=self.r.randrange(2**31))
        self.require(self.interpreted(s.func), "by primitives", s.func)
        self.require(self.native(s.func), "by primitives, compiled", s.func)
        check_text(s.func)

    def check_lowered(self) -> None:
        """By TVM's passes, one after the other, and others in between."""
        order = [*ORDER]
        for _ in range(self.r.randint(0, 4)):
            order.insert(self.r.randrange(len(order)), self.r.choice(ANYWHERE))
        func = self.kernel.func
        for step in order:
            with PassContext(config=self.r.choice(SETTINGS)):
                func = step(IRModule({"main": func}))["main"]
            verify_well_formed(func)
        self.require(self.interpreted(func), f"lowered by {order}", func)
        self.require(self.native(func), f"lowered by {order}, compiled", func)


def check_text(func: PrimFunc) -> None:
    """What is printed reads back as the same."""
    back = from_source(func.script())
    assert_structural_equal(back, func.with_fields(attrs=back.attrs))


def agree(found: list[Any], wanted: list[Any]) -> bool:
    """Up to rounding; integers exactly."""
    return all(_agree(a, b) for a, b in zip(found, wanted))


def _agree(found: Any, wanted: Any) -> bool:
    near = TOLERANCE.get(str(wanted.dtype))
    if near is None:
        return bool((found == wanted).all())
    found, wanted = found.astype("float64"), wanted.astype("float64")
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
    return bool(np.allclose(found, wanted, rtol=near, atol=near * largest, equal_nan=True))


def check(seed: int) -> None:
    """All ways of one kernel; the seed stands in the failure."""
    try:
        with np.errstate(all="ignore"):
            checker = Checker(seed)
            check_text(checker.kernel.func)
            checker.check_compiled()
            checker.r.choice([checker.check_scheduled, checker.check_steps, checker.check_lowered])()
    except Exception as error:
        raise AssertionError(f"seed {seed}") from error
