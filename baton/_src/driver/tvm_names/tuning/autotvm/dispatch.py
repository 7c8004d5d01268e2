"""Which configuration is in force: a certain one, that of whatever context knows one, or none."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from contextvars import ContextVar
from typing import Any, ClassVar, Self

from baton._src.driver.tuning_records.in_force import consulting_kernels
from baton._src.driver.tvm_names.tuning.autotvm.config import Config, ConfigEntity, FallbackConfig
from baton._src.driver.tvm_names.tuning.workloads import workload_key
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
