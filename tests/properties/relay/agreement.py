"""What every Relay program has to satisfy: one value, interpreted, compiled, and after any sequence of passes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from baton._src.driver.relay.executors import create_executor
from baton._src.driver.relay.graph_fragment import why_no_graph
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.passes.relay.first_order.specialize import Specialize
from baton._src.passes.relay.memory.manifest_alloc import ManifestAlloc
from baton._src.passes.relay.memory.manifest_lifetimes import ManifestLifetimes
from baton._src.passes.relay.pipeline import optimize
from baton._src.relay.analysis import free_vars, well_formed
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Function
from baton._src.relay.text.printer import astext
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Sequential
from tests.passes.relay.test_values_stay import PASSES, WHOLE_PROGRAM, same
from tests.relay.programs import plain
from tests.relay.random_programs import whole_modules

wire()
ARGUMENTS = (
    (True, np.array([1, -2], "float32"), 2),
    (False, np.array([0.5, 0], "float32"), -1),
)
STEPS = (*PASSES, optimize())
EVERY = (*STEPS, *WHOLE_PROGRAM, Specialize())
"""Those that make other programs of programs included: slower, so for `make fuzz`."""
LAST: tuple[Any, ...] = (None, ManifestAlloc(), Sequential((ManifestAlloc(), ManifestLifetimes())))
"""Programs that say where values lie are for running, not for further passes."""


def interpreted(module: IRModule) -> list[Any]:
    """The values of `main` in the reference interpreter."""
    return [plain(Interpreter(module).evaluate(module["main"])(*args)) for args in ARGUMENTS]


def _is_straight(module: IRModule) -> bool:
    """Whether the graph executors can run it."""
    return why_no_graph(module) is None


def check(module: IRModule, level: int, steps: list[Any]) -> None:
    """Interpreter against machine, and against the interpreter after each of `steps`."""
    with np.errstate(all="ignore"), warnings.catch_warnings(), PassContext(opt_level=level):
        warnings.simplefilter("ignore")
        expected = interpreted(module)
        machine = create_executor("vm", module).evaluate()
        found = [plain(machine(*args)) for args in ARGUMENTS]
        assert same(found, expected), f"the machine gives {found}, the interpreter {expected}"
        if level > 0 and _is_straight(module):
            kind = "graph" if level == 2 else "aot"
            run = create_executor(kind, module).evaluate()
            found = [plain(run(*args)) for args in ARGUMENTS]
            assert same(found, expected), f"the {kind} executor gives {found}, the interpreter {expected}"
        changed = infer_type(module)
        for step in steps:
            changed = step(changed)
            note(f"after {step!r}:\n{astext(changed)}")
            for function in changed.functions.values():
                assert not isinstance(function, Function) or (well_formed(function) and not free_vars(function))
            found = interpreted(changed)
            assert same(found, expected), f"after {step!r} the value is {found}, before it was {expected}"


def agreement_after_every_pass(count: int, **sizes: Any) -> Callable[[], None]:
    """A test of `count` programs after any sequence of all passes, whole-program ones and memory included."""

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    @given(whole_modules(**sizes), st.lists(st.sampled_from(EVERY), max_size=4), st.sampled_from(LAST))
    def test(module: IRModule, steps: list[Any], last: Any) -> None:
        check(module, 2, steps if last is None else [*steps, last])

    return test


def agreement(count: int, **sizes: Any) -> Callable[[], None]:
    """A test of `count` programs; hypothesis shrinks a failing one and prints it as Relay text."""

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    @given(whole_modules(**sizes), st.sampled_from((0, 2, 3)), st.lists(st.sampled_from(STEPS), max_size=2))
    def test(module: IRModule, level: int, steps: list[Any]) -> None:
        check(module, level, steps)

    return test
