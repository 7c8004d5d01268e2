"""Which configuration is in force: the best of a log, a certain one, or none.

with autotvm.apply_history_best("matmul.log"):
    with tvm.target.Target("llvm"):
        s, args = matmul(64)                     # templates are given their best configuration
    lib = relay.build(mod, target, params=params)    # and kernels of programs theirs
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable
from contextlib import ExitStack
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ClassVar, Self

from baton._src.driver.tuning_records.in_force import consulting_kernels
from baton._src.driver.tvm_names.tuning.autotvm.config import Config, ConfigEntity, FallbackConfig
from baton._src.driver.tvm_names.tuning.workloads import workload_key
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import CHOICES, PrimFunc


class DispatchContext:
    """What is asked for configurations within its `with` block."""

    _stack: ClassVar[ContextVar[tuple[DispatchContext, ...]]] = ContextVar("dispatch", default=())

    @staticmethod
    def query_current(target: Any, workload: tuple[Any, ...]) -> Config:
        """The configuration in force for a workload; where none is known, first values (and a warning)."""
        for context in reversed(DispatchContext._stack.get()):
            found = context.query(target, workload)
            if found is not None:
                return found
        warnings.warn(f"no configuration is known of {workload}: knobs have their first values", stacklevel=4)
        return FallbackConfig()

    def query(self, target: Any, workload: tuple[Any, ...]) -> Config | None:
        """The configuration of a workload; None if this context knows none."""
        raise NotImplementedError

    def best(self, func: PrimFunc) -> PrimFunc | None:
        """The kernel of a program as this context would have it; None if it knows nothing of it."""
        config = self.kernel_config(workload_key(func))
        if config is None:
            return None
        return func.with_attr(CHOICES, {name: int(one.value) for name, one in config.values.items()})

    def kernel_config(self, key: str) -> ConfigEntity | None:
        """The configuration of a program's kernel; None if this context knows none."""
        return None

    def version(self) -> str:
        """Stands for all answers."""
        return f"dispatch {id(self)}"

    def __enter__(self) -> Self:
        stack = ExitStack()
        stack.enter_context(consulting_kernels(self))
        token = DispatchContext._stack.set((*DispatchContext._stack.get(), self))
        stack.callback(DispatchContext._stack.reset, token)
        self.__dict__.setdefault("_entered", []).append(stack)
        return self

    def __exit__(self, *caught: object) -> None:
        self.__dict__["_entered"].pop().close()


class ApplyConfig(DispatchContext):
    """One configuration for every template."""

    def __init__(self, config: ConfigEntity) -> None:
        self.config = config

    def query(self, target: Any, workload: tuple[Any, ...]) -> Config | None:
        return self.config


class ApplyHistoryBest(DispatchContext):
    """The fastest configuration of each workload in logs (paths, or pairs of inputs and results)."""

    def __init__(self, records: Any) -> None:
        self._best: dict[tuple[Any, ...], tuple[float, ConfigEntity]] = {}
        if records is not None:
            self.load(records)

    def load(self, records: str | Path | Iterable[Any]) -> None:
        """Take further records."""
        from baton._src.driver.tvm_names.tuning.autotvm.records import load_from_file

        if isinstance(records, (str, Path)):
            self._add(load_from_file(records))
            return
        for one in records:
            if isinstance(one, (str, Path)):
                self._add(load_from_file(one))
            else:
                self._add([one])

    def _add(self, pairs: Iterable[Any]) -> None:
        for asked, result in pairs:
            if result.error_no == 0:
                workload, cost = asked.task.workload, result.mean
                if workload not in self._best or cost < self._best[workload][0]:
                    self._best[workload] = (cost, asked.config)

    def query(self, target: Any, workload: tuple[Any, ...]) -> Config | None:
        found = self._best.get(workload)
        return None if found is None else ConfigEntity(found[1].index, dict(found[1].values))

    def kernel_config(self, key: str) -> ConfigEntity | None:
        from baton._src.driver.tvm_names.tuning.autotvm.task import KERNEL

        of_kernel = [pair for workload, pair in self._best.items() if workload[0] == KERNEL and workload[2] == key]
        return min(of_kernel, key=lambda pair: pair[0])[1] if of_kernel else None

    def version(self) -> str:
        """Stands for all that was read."""
        rows = sorted(f"{workload}: {config}" for workload, (_, config) in self._best.items())
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()

    def update(self, target: Any, workload: tuple[Any, ...], cfg: ConfigEntity) -> None:
        """Let a configuration be the best of a workload."""
        if not isinstance(cfg, ConfigEntity):
            raise fail("autotvm-record", f"{cfg!r} is no configuration", kind=TypeError)
        self._best[workload] = (0.0, cfg)


def apply_history_best(log_file: Any) -> ApplyHistoryBest:
    """The fastest configurations of logs, to be put in force: `with autotvm.apply_history_best("tune.log"):`."""
    return ApplyHistoryBest(log_file)
