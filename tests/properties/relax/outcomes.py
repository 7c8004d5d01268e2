"""What a program does when it is run: its value, what it printed and logged, and what became of its arguments.

Two ways of running a program agree when their outcomes do; that is all a user can observe.
"""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from baton._src.codegen.llvm.module import CompileOptions
from baton._src.driver.relax.build import relax_build
from baton._src.driver.relax.optimize import optimize
from baton._src.driver.targets import chosen_target
from baton._src.ir.module import IRModule
from baton._src.relax.interpreter import Interpreter
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.values.tensor import NDArray, array
from tests.relax.random_programs.strategies import Program

TOLERANCE = {"float16": 3e-2, "bfloat16": 0.2}
"""Of dtypes that round coarsely; 1e-4 for others."""
SHAKES = range(1, 25)
SHAKE = 4e-7
"""How far shaken inputs are off: some roundings of float32."""
ROUNDS = 5
"""Calls of a thread among others."""


def _shaken(a: Any, draws: np.random.Generator) -> Any:
    step = max(SHAKE, 3 * float(ml_dtypes.finfo(a.dtype).eps)) if a.dtype.itemsize < 4 else SHAKE
    return (a * (1 + draws.uniform(-step, step, a.shape))).astype(a.dtype)


@dataclass(frozen=True)
class Run:
    """Which run: the module (the program's own, or what passes made of it), the size of `n`, the inputs' seed, and that
    of the roundings they are shaken by."""

    program: Program
    module: IRModule
    size: int
    seed: int
    shake: int = 0

    def inputs(self) -> list[Any]:
        """What `main` is called with."""
        given = self.program.inputs(self.size, self.seed)
        if not self.shake:
            return given
        draws = np.random.default_rng(self.shake)
        return [_shaken(a, draws) if "float" in str(a.dtype) else a for a in given]


@dataclass(frozen=True)
class Outcome:
    """Everything observable of a run."""

    value: list[Any]
    log: list[np.ndarray]
    printed: str
    arguments: list[np.ndarray]


def interpreted(run: Run) -> Outcome:
    """By the reference interpreter."""
    return observe(run, lambda functions: Interpreter(run.module, functions)["main"])


def both_builds(run: Run, checked: bool = False) -> dict[str, Outcome]:
    """Compiled once by the passes, then run by the virtual machine in both execution modes.

    `checked` compiles bounds checks into every access.
    """
    module = optimize(run.module, chosen_target(None), "default_build", lambda name, module: None)
    return {mode: built(replace(run, module=module), mode, None, checked) for mode in ("bytecode", "compiled")}


def built(run: Run, exec_mode: str, pipeline: str | None = "default_build", checked: bool = False) -> Outcome:
    """Compiled, and run by the virtual machine."""
    options = CompileOptions(workers=1, checked=True) if checked else CompileOptions(workers=1)
    executable = relax_build(run.module, exec_mode=exec_mode, pipeline=pipeline, options=options)
    return observe(run, lambda functions: VirtualMachine(executable, functions=functions)["main"])


def in_threads(runs: list[Run]) -> list[Outcome]:
    """Runs of one pure program, compiled once: threads call it at the same time, each several times, with its own."""
    executable = relax_build(runs[0].module, options=CompileOptions(workers=1))
    main = VirtualMachine(executable, functions=runs[0].program.functions)["main"]
    meeting = threading.Barrier(len(runs))

    def call(run: Run) -> Outcome:
        arguments = [array(a) for a in run.inputs()]
        meeting.wait()
        values = [_flat(main(*arguments)) for _ in range(ROUNDS)]
        for value in values:
            _same("result of another round", value, values[0])
        return Outcome(values[0], [], "", [a.numpy() for a in arguments])

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(len(runs)) as threads:
            return list(threads.map(call, runs))
    finally:
        sys.setswitchinterval(before)


def observe(run: Run, machine: Callable[[Any], Callable[..., Any]]) -> Outcome:
    """What happens when `machine`, of the packed functions that the program calls, gives a `main` that is called."""
    log: list[np.ndarray] = []
    arguments = [array(a) for a in run.inputs()]
    with redirect_stdout(io.StringIO()) as printed:
        value = machine(run.program.logging_functions(log))(*arguments)
    return Outcome(_flat(value), log, printed.getvalue(), [a.numpy() for a in arguments])


def _flat(value: Any) -> list[Any]:
    """The leaves of a value, tensors as arrays."""
    if isinstance(value, NDArray):
        return [value.numpy()]
    if type(value) is tuple:
        return [leaf for item in value for leaf in _flat(item)]
    return [value]


def assert_agree(found: Outcome, expected: Outcome) -> None:
    """Equal up to rounding; shapes, dtypes, text and order exactly."""
    assert found.printed == expected.printed
    _same("result", found.value, expected.value)
    _same("log entry", found.log, expected.log)
    _same("argument", found.arguments, expected.arguments)


def hangs_on_rounding(run: Run, expected: Outcome) -> bool:
    """Whether some inputs a few roundings away have another outcome: which of two equal sums is the greater, say."""
    for shake in SHAKES:
        try:
            assert_agree(interpreted(replace(run, shake=shake)), expected)
        except AssertionError:
            return True
    return False


def _same(what: str, found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected), f"{len(found)} {what}s instead of {len(expected)}"
    for number, (a, b) in enumerate(zip(found, expected)):
        if not isinstance(b, np.ndarray):
            assert a == b, f"{what} {number}"
            continue
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{what} {number}"
        near = TOLERANCE.get(str(b.dtype), 1e-4)
        wide = [v.astype("float64") if str(b.dtype) in TOLERANCE else v for v in (a, b)]
        np.testing.assert_allclose(*wide, rtol=near, atol=near, err_msg=f"{what} {number}")
