"""The parts that `create("llvm")` of TVM's classes gives: scripts put rules of their own beside them."""

from __future__ import annotations

from typing import Any

from baton._src.driver.tvm_names.tuning.meta_schedule.cpu_mutators import (
    MutateComputeLocation,
    MutateParallel,
    MutateTileSize,
    MutateUnroll,
)
from baton._src.driver.tvm_names.tuning.meta_schedule.cpu_postprocs import default_postprocs
from baton._src.driver.tvm_names.tuning.meta_schedule.kernel_parts import Mutator, Postproc, ScheduleRule
from baton._src.driver.tvm_names.tuning.meta_schedule.schedule_rules import (
    AddRFactor,
    AutoInline,
    InlineConstantScalars,
    MultiLevelTiling,
    ParallelizeVectorizeUnroll,
    RandomComputeLocation,
    ReuseType,
)
from baton._src.support.diagnostics import fail


def rules(kind: str = "llvm") -> list[ScheduleRule]:
    """TVM's schedule rules for CPUs, in order. Error `api`: a kind of other machines."""
    _check("schedule rules", kind)
    inline = AutoInline(
        into_producer=False,
        into_consumer=True,
        inline_const_tensor=True,
        disallow_if_then_else=True,
        require_injective=True,
        require_ordered=True,
        disallow_op=["tir.exp"],
    )
    return [
        InlineConstantScalars(),
        inline,
        AddRFactor(max_jobs_per_core=16, max_innermost_factor=64),
        MultiLevelTiling("SSRSRS", max_innermost_factor=64, reuse_write=ReuseType("may", [1, 2], "global")),
        ParallelizeVectorizeUnroll(16, 64, [0, 16, 64, 512], unroll_explicit=True),
        RandomComputeLocation(),
    ]


def postprocs(kind: str = "llvm") -> list[Postproc]:
    """TVM's postprocessors for CPUs. Error `api`: a kind of other machines."""
    _check("postprocessors", kind)
    return default_postprocs()


def mutators(kind: str = "llvm") -> dict[Mutator, float]:
    """TVM's mutators for CPUs, and how often each is used. Error `api`: a kind of other machines."""
    _check("mutators", kind)
    return {
        MutateTileSize(): 0.9,
        MutateComputeLocation(): 0.05,
        MutateUnroll(): 0.03,
        MutateParallel(max_jobs_per_core=16): 0.02,
    }


def _check(what: str, kind: Any) -> None:
    if kind != "llvm":
        raise fail("api", f"there are no {what} for {kind!r}", help='code is made for CPUs: "llvm"', kind=ValueError)
