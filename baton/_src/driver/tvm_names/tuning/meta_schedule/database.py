"""`Database`: the best known schedules of workloads; within its `with` block, compilation uses them.

database = ms.tir_integration.tune_tir(...)
schedule = database.query_schedule(module, target, "main")
with database:
    executable = relax.build(...)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from baton._src.driver.tuning_records.in_force import BestKernels, best_kernels
from baton._src.driver.tvm_names.tuning.meta_schedule.kinds import created
from baton._src.driver.tvm_names.tuning.meta_schedule.records import TuningRecord, Workload
from baton._src.driver.tvm_names.tuning.workloads import normalized, only_kernel, workload_key
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import CHOICES, PrimFunc
from baton._src.tir.schedule.schedule import Schedule

_EQUALITIES = ("structural", "ignore-ndarray", "anchor-block")


def check_equality(module_equality: str) -> None:
    """Names of TVM's ways to compare workloads; they are always compared by what they compute, constants included."""
    if module_equality not in _EQUALITIES:
        raise fail(
            "api", f"module_equality {module_equality!r} is not one of {', '.join(_EQUALITIES)}", kind=ValueError
        )


class Database(BestKernels):
    """What all databases share. A script's own has `has_workload`, `commit_workload`, `commit_tuning_record`,
    `get_top_k`, `get_all_tuning_records` and `__len__`.
    """

    kinds: ClassVar[dict[str, Callable[..., Database]]] = {}
    """By name what makes a database; filled by `databases`."""

    @staticmethod
    def create(kind: Any = "json", *args: Any, **kwargs: Any) -> Database:
        """A database by the name of its kind: "json", "memory", "union", "ordered_union", or a schedule function."""
        if callable(kind) and not isinstance(kind, Database):
            return Database.kinds["schedule_fn"](kind, *args, **kwargs)
        return created(Database, "kind of database", Database.kinds, kind, *args, **kwargs)

    @staticmethod
    def current() -> Database | None:
        """The database whose `with` block this is."""
        found = best_kernels()
        return found if isinstance(found, Database) else None

    def has_workload(self, mod: IRModule) -> bool:
        """Whether there are records of what the module computes."""
        raise NotImplementedError

    def commit_workload(self, mod: IRModule) -> Workload:
        """The workload of a module, added if it is missing."""
        raise NotImplementedError

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Add a record."""
        raise NotImplementedError

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """The fastest records of a workload that could be run, the fastest first."""
        raise NotImplementedError

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records, in the order they came."""
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def __bool__(self) -> bool:
        return True

    # ------------------------------------------------------------------------------------------ queries

    def query_tuning_record(self, mod: IRModule, target: Any, workload_name: str) -> TuningRecord | None:
        """The fastest record of what the module computes, whatever the `target` and the name of the workload."""
        if not self.has_workload(mod):
            return None
        return next(iter(self.get_top_k(self.commit_workload(mod), 1)), None)

    def query_schedule(self, mod: IRModule, target: Any, workload_name: str) -> Schedule | None:
        """The module with the fastest record's steps taken."""
        record = self.query_tuning_record(mod, target, workload_name)
        return None if record is None else record.schedule()

    def query_ir_module(self, mod: IRModule, target: Any, workload_name: str) -> IRModule | None:
        """The module as the fastest record makes it."""
        schedule = self.query_schedule(mod, target, workload_name)
        return None if schedule is None else schedule.mod

    def query(self, mod: IRModule, target: Any, *, workload_name: str = "main", kind: str = "schedule") -> Any:
        """`query_schedule`, or with `kind` "record" or "ir_module" the others."""
        match kind:
            case "schedule":
                return self.query_schedule(mod, target, workload_name)
            case "record":
                return self.query_tuning_record(mod, target, workload_name)
            case "ir_module":
                return self.query_ir_module(mod, target, workload_name)
            case _:
                help = "schedule, record or ir_module"
                raise fail("api", f"there is no kind of answer {kind!r}", help=help, kind=ValueError)

    def dump_pruned(self, destination: Database) -> None:
        """Give the fastest record of each workload to another database."""
        seen: set[str] = set()
        for record in self.get_all_tuning_records():
            if record.workload.key in seen:
                continue
            seen.add(record.workload.key)
            for best in self.get_top_k(record.workload, 1):
                workload = destination.commit_workload(best.workload.mod)
                steps, *_ = best.as_json()
                kept = TuningRecord(steps, workload, best.run_secs, best.target, best.args_info)
                destination.commit_tuning_record(kept)

    # -------------------------------------------------------------------------------------- compilation

    def best(self, func: PrimFunc) -> PrimFunc | None:
        """The kernel as the fastest record makes it: its loops chosen, or answers to what rules leave open."""
        key = workload_key(func)
        schedule = self.query_schedule(normalized(func), None, "main") if key else None
        if schedule is None:
            return None
        made = only_kernel(schedule.mod)
        if not made.loops_chosen:
            return func.with_attr(CHOICES, made.attrs.get(CHOICES, {}))
        # Other loops than the kernel's own could read what they have overwritten.
        return None if "tir.overwrites" in func.attrs else made.with_fields(attrs=dict(func.attrs))
