"""Which configuration is in force: a certain one, that of whatever context knows one, or none."""

from __future__ import annotations

import warnings
from typing import Any

from baton._src.driver.tuning_records.in_force import BestKernels, entered_databases
from baton._src.driver.tvm_names.tuning.autotvm.config import Config, ConfigEntity, FallbackConfig
from baton._src.driver.tvm_names.tuning.workloads import workload_key
from baton._src.tir.prim_func import CHOICES, PrimFunc


class DispatchContext(BestKernels):
    """What gives configurations to templates and kernels within its `with` block."""

    @staticmethod
    def query_current(target: Any, workload: tuple[Any, ...]) -> Config:
        """The configuration in force for a workload; where none is known, first values (and a warning)."""
        for context in entered_databases():
            found = context.query(target, workload) if isinstance(context, DispatchContext) else None
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
        return None if config is None else with_choices(func, config)

    def kernel_config(self, key: str) -> ConfigEntity | None:
        """The configuration of a program's kernel; None if this context knows none."""
        return None

    def version(self) -> str:
        """Stands for all answers."""
        return f"dispatch {id(self)}"


class ApplyConfig(DispatchContext):
    """One configuration for every template."""

    def __init__(self, config: ConfigEntity) -> None:
        self.config = config

    def query(self, target: Any, workload: tuple[Any, ...]) -> Config | None:
        return self.config


def with_choices(func: PrimFunc, config: ConfigEntity) -> PrimFunc:
    """The kernel with a configuration's answers to what its rule leaves open."""
    return func.with_attr(CHOICES, {name: int(one.value) for name, one in config.values.items()})
