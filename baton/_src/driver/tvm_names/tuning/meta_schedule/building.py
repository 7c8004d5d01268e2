"""Builders compile schedules to object files. A custom one derives from `Builder` and defines `build`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from baton._src.driver.tir.build import build
from baton._src.driver.tvm_names.registry import get_global_func
from baton._src.driver.tvm_names.tuning.meta_schedule.kinds import created
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.support.dataclass import dataclass
from baton._src.values.tensor import NDArray

FOLDER = "baton-candidate-"
"""The prefix of the names of folders that hold one candidate each."""


@dataclass(frozen=True)
class BuilderInput:
    """A scheduled kernel, the target to build it for, and parameters for builders that want them."""

    mod: IRModule
    target: Target
    params: Mapping[str, NDArray] | None = None


@dataclass(frozen=True)
class BuilderResult:
    """The file of a candidate, or why there is none. Neither, where the process that runs candidates builds them."""

    artifact_path: str | None
    error_msg: str | None


class Builder:
    """Builds candidates."""

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """A result for each candidate, in order; one that cannot be built costs itself only."""
        raise NotImplementedError

    @staticmethod
    def create(kind: Any = "local", *args: Any, **kwargs: Any) -> Builder:
        """A builder by its name, "local"; or the builder itself."""
        return created(Builder, "builder", {"local": LocalBuilder}, kind, *args, **kwargs)


class LocalBuilder(Builder):
    """Compiles candidates: those for a `LocalRunner` in the process that runs them, others in this one.

    `f_build(mod, target, params)` gives a library and `f_export(library)` writes it to a file, whose path it gives;
    both are functions or names of registered ones, and are called in this process, `initializer` before them. There
    `timeout_sec` does not hold, for nothing interrupts them. `max_workers` changes nothing: one is compiled at a time.
    """

    def __init__(
        self,
        *,
        max_workers: int | None = None,
        timeout_sec: float = 30.0,
        f_build: Callable[..., Any] | str | None = None,
        f_export: Callable[[Any], str] | str | None = None,
        initializer: Callable[[], None] | None = None,
    ) -> None:
        self.max_workers = max_workers
        self.timeout_sec = timeout_sec
        self.f_build = function_of(f_build, _default_build)
        self.f_export = function_of(f_export, _default_export)
        self.initializer = initializer

    @property
    def is_plain(self) -> bool:
        """Whether nothing of a script's takes part, so that another process can do the same."""
        return self.f_build is _default_build and self.f_export is _default_export and self.initializer is None

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        if self.initializer is not None:
            self.initializer()
        return [self._built(one) for one in build_inputs]

    def _built(self, one: BuilderInput) -> BuilderResult:
        try:
            return BuilderResult(str(self.f_export(self.f_build(one.mod, one.target, one.params))), None)
        except Exception as error:  # of a script's function: it costs this candidate
            return BuilderResult(None, f"LocalBuilder: {type(error).__name__}: {error}")


def function_of(given: Callable[..., Any] | str | None, default: Callable[..., Any]) -> Callable[..., Any]:
    """A function that a script gives, by itself or by the name it is registered under; else the default."""
    found = get_global_func(given) if isinstance(given, str) else given
    return default if found is None else found


def _default_build(mod: IRModule, target: Target, params: Mapping[str, NDArray] | None) -> Any:
    return build(mod, target=target)


def _default_export(library: Any) -> str:
    path = os.path.join(tempfile.mkdtemp(prefix=FOLDER), "candidate.so")
    library.export_library(path)
    return path


def remove_artifact(result: BuilderResult) -> None:
    """Remove the file of a candidate, and its folder if it was made for it."""
    if result.artifact_path is None:
        return
    path = Path(result.artifact_path)
    path.unlink(missing_ok=True)
    if path.parent.name.startswith(FOLDER):
        path.parent.rmdir()
