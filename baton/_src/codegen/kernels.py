"""What is asked of kernels before code is made of them: which calls which, and who schedules them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from baton._src.ir.expr import GlobalVar
from baton._src.ir.traverse import post_order
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.graphs import circles, components
from baton._src.tir import expr as tir
from baton._src.tir.prim_func import PrimFunc


@dataclass(frozen=True)
class Scheduler:
    """`run(kernel)` returns the scheduled kernel and the name of the rule that made it.

    `version` identifies everything that determines the result besides the kernel and the target: the rules' source,
    settings. `choices` returns the tuned choices for one kernel, given its symbol and its unscheduled form; they are
    part of its key.
    """

    run: Callable[[PrimFunc], tuple[PrimFunc, str]]
    version: str
    choices: Callable[[str, PrimFunc], str] = lambda symbol, function: ""


def calls_of(func: PrimFunc) -> list[str]:
    """The kernels a function calls."""
    nodes = (n.op for n in post_order(func.body) if isinstance(n, tir.Call))
    return [op.name_hint for op in nodes if isinstance(op, GlobalVar)]


def callees_first(calls: Mapping[str, list[str]]) -> list[str]:
    """Symbols such that every function comes after those it calls. Error `codegen-recursion` where none can."""
    if found := circles(calls):
        raise fail("codegen-recursion", f"kernels call each other, or themselves: {', '.join(found[0])}")
    return [symbol for (symbol,) in components(calls) if symbol in calls]
