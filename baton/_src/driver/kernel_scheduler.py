"""The schedule rules in the form code generation takes: a function, and its identification in cache keys."""

from __future__ import annotations

from baton._src.codegen.kernels import Scheduler
from baton._src.driver.tuning_records.in_force import best_kernels
from baton._src.driver.tuning_records.records import answers, record_text
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import Choices, Record, consulted, using
from baton._src.lower.kernel_schedules.given_loops import with_compact_memory
from baton._src.lower.kernel_schedules.schedule import decide, keeps_its_loops
from baton._src.support.source_fingerprint import source_fingerprint
from baton._src.tir.kernel_digest import kernel_digest
from baton._src.tir.prim_func import CHOICES, UNSCHEDULED, PrimFunc, as_scheduled
from baton._src.transform.context import PassContext

SOURCES = ("lower/kernel_schedules", "passes/shared", "transform", "te")
"""The sources of the rules, beyond those that code generation lists itself."""


def scheduler(target: Target) -> Scheduler:
    """The rules for `target`, under the settings of the current PassContext.

    Records are those that a kernel itself says, else come from whoever is consulted, else from the database that is in
    force or that of tuning, for all the target's cores.
    """
    found = best_kernels()
    settings = repr(sorted(PassContext.current().config.items(), key=lambda item: item[0]))
    lookup = consulted() or answers(target)
    records: dict[PrimFunc, Record] = {}
    loops: dict[PrimFunc, PrimFunc] = {}

    def choices(symbol: str, function: PrimFunc) -> str:
        if keeps_its_loops(function):
            return ""
        best = found.best(function) if found is not None else None
        if best is not None and best.loops_chosen:
            loops[function] = as_scheduled(best)
            return repr(kernel_digest(loops[function]))
        records[function] = function.attrs.get(CHOICES) or lookup(symbol, function, False)
        return record_text(records[function])

    def run(function: PrimFunc) -> tuple[PrimFunc, str]:
        if function in loops:
            return with_compact_memory(loops[function]), f"{UNSCHEDULED}: loops from the database in force"
        record = records.get(function)
        if not record:
            decision = decide(function, target)
            return decision.func, decision.rule
        with using(Choices(record)):
            decision = decide(function, target)
        return decision.func, f"{decision.rule}, tuned"

    return Scheduler(run, f"{source_fingerprint(*SOURCES)} {settings}", choices)
