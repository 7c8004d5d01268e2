"""Passes of Relax that tune a module's kernels, and that put the best known schedules in their place."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from baton._src.driver.targets import chosen_target
from baton._src.driver.tvm_names.tuning.meta_schedule.apply import with_best_kernels
from baton._src.driver.tvm_names.tuning.meta_schedule.database import Database
from baton._src.driver.tvm_names.tuning.meta_schedule.databases import JSONDatabase, MemoryDatabase
from baton._src.driver.tvm_names.tuning.meta_schedule.relax_integration import tune_relax
from baton._src.driver.tvm_names.tuning.meta_schedule.tir_integration import tune_tir
from baton._src.driver.tvm_names.tuning.program_kernels import is_measurable
from baton._src.ir.module import IRModule
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class MetaScheduleApplyDatabase(Pass):
    """Puts the best known schedules in place of kernels: by the database in force, else by that in `work_dir`."""

    work_dir: str | Path | None = None
    enable_warning: bool = False

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        database = Database.current()
        if database is None and self.work_dir is not None:
            database = JSONDatabase(work_dir=self.work_dir)
        if database is None:
            help = "with database: ..., or MetaScheduleApplyDatabase(work_dir)"
            raise fail("tuning-database", "no database is active", help=help)
        return with_best_kernels(module, database.best, self.enable_warning)


@dataclass(frozen=True)
class MetaScheduleTuneIRMod(Pass):
    """Tunes the kernels of a program, which stays as it is; the records are in `work_dir`."""

    params: Mapping[str, Any] | None
    work_dir: str | Path
    max_trials_global: int
    max_trials_per_task: int | None = None
    op_names: Sequence[str] | None = None

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        tune_relax(
            module,
            dict(self.params or {}),
            chosen_target(None),
            self.work_dir,
            self.max_trials_global,
            max_trials_per_task=self.max_trials_per_task,
            op_names=self.op_names,
        )
        return module


@dataclass(frozen=True)
class MetaScheduleTuneTIR(Pass):
    """Tunes each kernel of a module, which stays as it is; the records are in `work_dir`."""

    work_dir: str | Path
    max_trials_global: int

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        kernels = {v: f for v, f in module.functions.items() if isinstance(f, PrimFunc) and is_measurable(f)}
        tune_tir(IRModule(kernels), chosen_target(None), self.work_dir, self.max_trials_global)
        return module


@dataclass(frozen=True)
class FewShotTuning(Pass):
    """Gives each kernel that is not scheduled the fastest of `valid_count` schedules that were run.

    TVM takes the first that runs unless `benchmark` is set; candidates are timed here either way.
    """

    valid_count: int = 1
    benchmark: bool = False
    _seed: int = field(default_factory=lambda: random.SystemRandom().getrandbits(31), repr=False)

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        if self.valid_count < 1:
            raise fail("api", f"valid_count must be 1 or more, got {self.valid_count}", kind=ValueError)
        kernels = {v: f for v, f in module.functions.items() if isinstance(f, PrimFunc) and is_measurable(f)}
        database = MemoryDatabase()
        tune_tir(
            IRModule(kernels),
            chosen_target(None),
            "",
            self.valid_count * len(kernels),
            max_trials_per_task=self.valid_count,
            num_trials_per_iter=self.valid_count,
            database=database,
            seed=self._seed,
        )
        return with_best_kernels(module, database.best)
