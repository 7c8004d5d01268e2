"""The schedule rules as code generation takes them: a function, and what stands for it in the keys of its cache."""

from __future__ import annotations

from baton._src.codegen.llvm.module import Scheduler
from baton._src.driver.tuning_records.records import record_text, tunings
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import Choices, Record, consulted, using
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.support.source_fingerprint import source_fingerprint
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext

SOURCES = ("lower/kernel_schedules", "passes/shared", "transform", "te")
"""What the rules are made of, beyond what code generation names itself."""


def scheduler(target: Target) -> Scheduler:
    """The rules for `target`, under the settings of the current PassContext.

    Records come from whoever is consulted, else from the database of tuning, for all the target's cores.
    """
    settings = repr(sorted(PassContext.current().config.items(), key=lambda item: item[0]))
    lookup = consulted() or tunings(target).of
    records: dict[PrimFunc, Record] = {}

    def choices(symbol: str, function: PrimFunc) -> str:
        if function.attrs.get("tir.is_scheduled"):
            return ""
        records[function] = lookup(symbol, function, False)
        return record_text(records[function])

    def run(function: PrimFunc) -> tuple[PrimFunc, str]:
        record = records.get(function)
        if not record:
            decision = decide(function, target)
            return decision.func, decision.rule
        with using(Choices(record)):
            decision = decide(function, target)
        return decision.func, f"{decision.rule}, tuned"

    return Scheduler(run, f"{source_fingerprint(*SOURCES)} {settings}", choices)
