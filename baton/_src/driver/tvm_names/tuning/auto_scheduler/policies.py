"""The objects by which scripts describe a search: policies, cost models, the machine, where candidates are run.

    policy = auto_scheduler.SketchPolicy(
        task, auto_scheduler.XGBModel(), init_search_callbacks=[auto_scheduler.PreloadMeasuredStates(log)]
    )
    task.tune(options, search_policy=policy)  # goes on where the log ends

There is one way to search, which measures every candidate. So models are asked nothing, and of a policy only the logs
that it starts from count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from baton._src.driver.tvm_names.tuning.auto_scheduler.options import LocalRunner
from baton._src.driver.tvm_names.tuning.auto_scheduler.records import load_records
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail


@dataclass(frozen=True)
class HardwareParams:
    """A script's description of the machine. It changes nothing: targets know their caches and vectors."""

    num_cores: int | None = None
    vector_unit_bytes: int | None = None
    cache_line_bytes: int | None = None
    max_shared_memory_per_block: int | None = None
    max_local_memory_per_block: int | None = None
    max_threads_per_block: int | None = None
    max_vthread_extent: int | None = None
    warp_size: int | None = None
    target: Any = None
    target_host: Any = None


class RandomModel:
    """A cost model. It is told measurements as in TVM, and asked nothing."""

    def update(self, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        """Learn from measurements: nothing is kept."""


class XGBModel(RandomModel):
    """A cost model that learns in TVM. Its options change nothing; error `api`: it shall be read from `model_file`."""

    def __init__(
        self,
        verbose_warmup: int = 50,
        num_warmup_sample: int = 100,
        seed: int | None = None,
        model_file: None = None,
        adaptive_training: bool = False,
    ) -> None:
        if model_file is not None:
            raise fail("api", "models of costs are not read: every candidate is measured", help="leave model_file out")

    def update_from_file(self, file_name: str | Path, n_lines: int | None = None) -> None:
        """Learn from a log: it is read, so that a wrong one is an error, and nothing is kept."""
        for _ in load_records(file_name):
            pass


@dataclass(frozen=True)
class PreloadMeasuredStates:
    """Lets a policy start from the measurements of a log: they are not repeated, and the fastest one stands."""

    filename: str | Path = "auto_scheduler_tuning.json"


class SketchPolicy:
    """A search for one task, to be given to its `tune`. `program_cost_model`, `params`, `seed` and `verbose` change
    nothing. Error `api`: a callback is not a `PreloadMeasuredStates`.
    """

    def __init__(
        self,
        task: Any,
        program_cost_model: RandomModel | None = None,
        params: Mapping[str, Any] | None = None,
        seed: int | None = None,
        verbose: int = 1,
        init_search_callbacks: Sequence[PreloadMeasuredStates] | None = None,
    ) -> None:
        callbacks = list(init_search_callbacks or ())
        for callback in callbacks:
            if not isinstance(callback, PreloadMeasuredStates):
                raise fail("api", f"a search starts from logs only, not from a {type(callback).__name__}")
        self.task = task
        self.logs = [callback.filename for callback in callbacks]


class LocalRPCMeasureContext:
    """Candidates are run in another process of this machine, as by the `LocalRunner` that is its `runner`.

    `priority` and `n_parallel` change nothing.
    """

    def __init__(
        self,
        priority: int = 1,
        n_parallel: int = 1,
        timeout: float = 10,
        number: int = 3,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        cooldown_interval: float = 0.0,
        enable_cpu_cache_flush: bool = False,
        device: int = 0,
    ) -> None:
        self.runner = LocalRunner(
            timeout, number, repeat, min_repeat_ms, cooldown_interval, enable_cpu_cache_flush, device
        )
