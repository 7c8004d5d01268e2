"""The schedule rules as code generation takes them: a function, and a version for the keys of its cache."""

from __future__ import annotations

from baton._src.codegen.llvm.module import Scheduler
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.support.source_fingerprint import source_fingerprint
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext

SOURCES = ("lower/kernel_schedules", "passes/shared", "transform", "te")
"""What the rules are made of, beyond what code generation names itself."""


def scheduler(target: Target) -> Scheduler:
    """The rules for `target`, under the settings of the current PassContext."""
    settings = repr(sorted(PassContext.current().config.items(), key=lambda item: item[0]))

    def run(function: PrimFunc) -> tuple[PrimFunc, str]:
        decision = decide(function, target)
        return decision.func, decision.rule

    return Scheduler(run, f"{source_fingerprint(*SOURCES)} {settings}")
