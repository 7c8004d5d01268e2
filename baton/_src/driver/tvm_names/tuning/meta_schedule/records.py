"""The content of a schedule database: workloads, and records of the time that each trace achieved."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from baton._src.driver.targets import chosen_target
from baton._src.driver.tvm_names.tuning.workloads import module_key, normalized, only_kernel
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.buffer import constant_shape
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.schedule.traces.trace import Trace
from baton._src.tir.text.parser import parse_text
from baton._src.tir.text.printer import script

FAILED = 1e10
"""Seconds of candidates that could not be run."""


class TensorInfo:
    """The dtype and shape of a kernel's argument."""

    def __init__(self, dtype: Any, shape: Sequence[int]) -> None:
        self.dtype = str(dtype)
        self.shape = [int(n) for n in shape]

    def as_json(self) -> list[Any]:
        """`["TENSOR", dtype, shape]`."""
        return ["TENSOR", self.dtype, list(self.shape)]

    @staticmethod
    def from_json(json_obj: Any) -> TensorInfo:
        """The inverse of `as_json`."""
        try:
            kind, dtype, shape = json_obj
        except (TypeError, ValueError):
            kind = None
        if kind != "TENSOR":
            raise fail("tuning-record", f"{json_obj!r} describes no tensor")
        return TensorInfo(dtype, shape)

    @staticmethod
    def from_prim_func(func: PrimFunc) -> list[TensorInfo]:
        """Those of all tensors that a kernel takes."""
        buffers = [func.buffer_map[param] for param in func.params if param in func.buffer_map]
        return [TensorInfo(buffer.dtype, constant_shape(buffer) or ()) for buffer in buffers]

    @staticmethod
    def from_entry_func(mod: IRModule, remove_preproc: bool = True) -> list[TensorInfo]:
        """Those of a module's only kernel, or of the one it marks as its entry."""
        del remove_preproc  # no blocks of preprocessing are left in kernels here
        return TensorInfo.from_prim_func(only_kernel(mod))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorInfo) and self.as_json() == other.as_json()

    def __hash__(self) -> int:
        return hash((self.dtype, *self.shape))

    def __repr__(self) -> str:
        return f"TensorInfo({self.dtype!r}, {self.shape})"


class Workload:
    """A kernel (or several) that records belong to. `key` names what it computes."""

    def __init__(self, mod: IRModule | PrimFunc, key: str | None = None) -> None:
        self.mod = normalized(mod) if isinstance(mod, PrimFunc) else mod
        self.key = module_key(self.mod) if key is None else key
        if not self.key:
            raise fail("tuning-kernel", "the kernel holds Python objects, so its records could not be found again")

    @property
    def shash(self) -> str:
        """The key under TVM's name: equal for what computes the same."""
        return self.key

    def as_json(self) -> list[str]:
        """`[key, text]`."""
        return [self.key, script(only_kernel(self.mod), "main")]

    @staticmethod
    def from_json(json_obj: Any) -> Workload:
        """The inverse of `as_json`. Error `tuning-record`: the data is none of it."""
        try:
            key, text = json_obj
            return Workload(normalized(parse_text(str(text))), str(key))
        except (TypeError, ValueError) as error:
            raise fail("tuning-record", f"{str(json_obj)[:60]!r} is not a workload: {error}") from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workload) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class TuningRecord:
    """The run times of a workload scheduled by a trace: seconds per call, for each repetition."""

    def __init__(
        self,
        trace: Trace | list[Any],
        workload: Workload,
        run_secs: Sequence[float] | None = None,
        target: Target | str | None = None,
        args_info: Sequence[TensorInfo] | None = None,
    ) -> None:
        self._steps = trace.as_json() if isinstance(trace, Trace) else trace
        self.workload = workload
        self.run_secs = None if run_secs is None else [float(s) for s in run_secs]
        self.target = None if target is None else chosen_target(target)
        self.args_info = None if args_info is None else list(args_info)

    @property
    def trace(self) -> Trace:
        """The steps."""
        return self.schedule().trace

    @property
    def seconds(self) -> float:
        """The mean over the repetitions; infinite if nothing was measured."""
        return statistics.fmean(self.run_secs) if self.run_secs else float("inf")

    @property
    def is_valid(self) -> bool:
        """Whether the candidate could be run."""
        return self.seconds < FAILED

    def schedule(self, mod: IRModule | None = None) -> Schedule:
        """The workload (or a module that computes the same) with the steps taken."""
        made = Schedule(self.workload.mod if mod is None else mod)
        Trace.apply_json_to_schedule(self._steps, made)
        return made

    def transform_ir_module(self) -> IRModule:
        """The workload with the steps taken."""
        return self.schedule().mod

    def as_measure_candidate(self) -> MeasureCandidate:
        """The schedule as it is measured."""
        return MeasureCandidate(self.schedule(), self.args_info or [])

    def as_json(self) -> list[Any]:
        """`[trace, seconds, target, arguments]`."""
        target = None if self.target is None else self.target.export()
        arguments = None if self.args_info is None else [info.as_json() for info in self.args_info]
        return [self._steps, self.run_secs, target, arguments]

    @staticmethod
    def from_json(json_obj: Any, workload: Workload) -> TuningRecord:
        """The inverse of `as_json`. Error `tuning-record`: the data is none of it."""
        try:
            steps, seconds, target, arguments = json_obj
        except (TypeError, ValueError) as error:
            raise fail("tuning-record", f"{str(json_obj)[:60]!r} is not a record: {error}") from error
        infos = None if arguments is None else [TensorInfo.from_json(info) for info in arguments]
        return TuningRecord(steps, workload, seconds, None if target is None else Target(target), infos)


@dataclass
class MeasureCandidate:
    """A schedule to be measured."""

    sch: Schedule
    args_info: Sequence[TensorInfo]


@dataclass
class RunnerResult:
    """Seconds of a call, or why there are none."""

    run_secs: list[float] | None
    error_msg: str | None = None
