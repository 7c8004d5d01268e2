"""Apply the best configurations of logs.

with autotvm.apply_history_best("matmul.log"):
    with tvm.target.Target("llvm"):
        s, args = matmul(64)                         # templates are given their fastest configuration
    lib = relay.build(mod, target, params=params)    # and kernels of programs theirs
"""

from __future__ import annotations

from collections.abc import Iterable
from io import TextIOBase
from pathlib import Path
from typing import Any

from baton._src.driver.tvm_names.tuning.autotvm.config import Config, ConfigEntity
from baton._src.driver.tvm_names.tuning.autotvm.dispatch import DispatchContext
from baton._src.driver.tvm_names.tuning.autotvm.records import load_from_buffer, load_from_file
from baton._src.driver.tvm_names.tuning.workloads import KERNEL
from baton._src.support.diagnostics import fail


class ApplyHistoryBest(DispatchContext):
    """The fastest configuration of each workload in logs (paths, open files, or pairs of inputs and results)."""

    def __init__(self, records: Any) -> None:
        self._best: dict[tuple[Any, ...], tuple[float, ConfigEntity]] = {}
        if records is not None:
            self.load(records)

    def load(self, records: str | Path | TextIOBase | Iterable[Any]) -> None:
        """Take further records."""
        if isinstance(records, (str, Path)):
            self._add(load_from_file(records))
            return
        if isinstance(records, TextIOBase):
            self._add(load_from_buffer(records))
            return
        for one in records:
            if isinstance(one, (str, Path)):
                self._add(load_from_file(one))
            else:
                self._add([one])

    def _add(self, pairs: Iterable[Any]) -> None:
        for inp, result in pairs:
            if result.error_no == 0:
                workload, cost = inp.task.workload, result.mean
                if workload not in self._best or cost < self._best[workload][0]:
                    self._best[workload] = (cost, inp.config)

    def _query_inside(self, target: Any, workload: tuple[Any, ...]) -> Config | None:
        found = self._best.get(workload)
        return None if found is None else ConfigEntity(found[1].index, dict(found[1].values))

    def kernel_config(self, key: str) -> ConfigEntity | None:
        of_kernel = [pair for workload, pair in self._best.items() if workload[0] == KERNEL and workload[2] == key]
        return min(of_kernel, key=lambda pair: pair[0])[1] if of_kernel else None

    def update(self, target: Any, workload: tuple[Any, ...], cfg: Config) -> None:
        """Let a configuration be the best of a workload."""
        if not isinstance(cfg, ConfigEntity):
            raise fail("autotvm-record", f"{cfg!r} is not a configuration", kind=TypeError)
        self._best[workload] = (0.0, cfg)


def apply_history_best(records: Any) -> ApplyHistoryBest:
    """The fastest configurations of logs, to be put in force: `with autotvm.apply_history_best("tune.log"):`."""
    return ApplyHistoryBest(records)
