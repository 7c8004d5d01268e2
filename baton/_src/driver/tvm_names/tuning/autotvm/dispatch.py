"""The configuration in force: a fixed one, the one that a dispatch context provides, or none."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from baton._src.driver.tuning_records.in_force import BestKernels, entered_databases
from baton._src.driver.tvm_names.tuning.autotvm.config import Config, ConfigEntity
from baton._src.driver.tvm_names.tuning.autotvm.fallback import FallbackConfig
from baton._src.driver.tvm_names.tuning.workloads import workload_key
from baton._src.tir.prim_func import CHOICES, PrimFunc


class _Innermost:
    """The context whose block was entered last; the root if none is open."""

    def __get__(self, context: object, owner: type) -> DispatchContext:
        return next(_entered(), _ROOT)


class DispatchContext(BestKernels):
    """Provides configurations to templates and kernels within its `with` block. User-defined ones implement
    `_query_inside`.
    """

    current = _Innermost()

    def query(self, target: Any, workload: tuple[Any, ...]) -> Config:
        """The configuration of a workload that this context knows, else one around it; else the root's first values
        (`is_fallback`)."""
        entered = list(_entered())
        around = entered[entered.index(self) + 1 :] if self in entered else entered
        for context in (self, *around):
            found = context._query_inside(target, workload)
            if found is not None:
                return found
        return _ROOT.query(target, workload)

    def _query_inside(self, target: Any, workload: tuple[Any, ...]) -> Config | None:
        """The configuration of a workload; None if this context knows none."""
        raise NotImplementedError

    def update(self, target: Any, workload: tuple[Any, ...], cfg: Config) -> None:
        """Let a configuration be that of a workload."""
        raise NotImplementedError

    def best(self, func: PrimFunc) -> PrimFunc | None:
        """The kernel of a program as this context would have it; None if it knows nothing of it."""
        config = self.kernel_config(workload_key(func))
        return None if config is None else with_choices(func, config)

    def kernel_config(self, key: str) -> ConfigEntity | None:
        """The configuration of a program's kernel; None if this context knows none."""
        return None


class ApplyConfig(DispatchContext):
    """One configuration for every template; `workload` is what was asked for last."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.workload: tuple[Any, ...] | None = None

    def _query_inside(self, target: Any, workload: tuple[Any, ...]) -> Config | None:
        self.workload = workload
        return self.config

    def update(self, target: Any, workload: tuple[Any, ...], cfg: Config) -> None:
        self.workload, self.config = workload, cfg


class FallbackContext(DispatchContext):
    """First values (and a warning) for every workload but those that were updated: the root of all contexts."""

    def __init__(self) -> None:
        self.memory: dict[tuple[str, tuple[Any, ...]], Config] = {}

    def query(self, target: Any, workload: tuple[Any, ...]) -> Config:
        known = self.memory.get((str(target), workload))
        if known is not None:
            return known
        warnings.warn(f"no configuration is known of {workload}: knobs have their first values", stacklevel=5)
        return FallbackConfig()

    _query_inside = query

    def update(self, target: Any, workload: tuple[Any, ...], cfg: Config) -> None:
        self.memory[str(target), workload] = cfg

    def clear_cache(self, target: Any, workload: tuple[Any, ...]) -> None:
        """Forget what a workload was updated to."""
        self.memory.pop((str(target), workload), None)


_ROOT = FallbackContext()


def _entered() -> Iterator[DispatchContext]:
    """The contexts whose blocks are open, the innermost first."""
    return (context for context in entered_databases() if isinstance(context, DispatchContext))


def clear_fallback_cache(target: Any, workload: tuple[Any, ...]) -> None:
    """Let the root forget what a workload was updated to."""
    _ROOT.clear_cache(target, workload)


def with_choices(func: PrimFunc, config: ConfigEntity) -> PrimFunc:
    """The kernel with a configuration's answers to what its rule leaves open."""
    return func.with_attr(CHOICES, {name: int(one.value) for name, one in config.values.items()})
