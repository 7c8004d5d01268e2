"""What `compile` does when the program is not cached: read, build, cache. Importing this imports the compiler."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from baton._src.driver.compile.program_cache import ProgramKey, keep_program
from baton._src.driver.compile.read_program import read_program
from baton._src.driver.model.model import Model
from baton._src.driver.relax.build import relax_build
from baton._src.driver.stages import Options, Stages
from baton._src.driver.tuning_records.records import with_tunings
from baton._src.driver.wiring import wire
from baton._src.frontends.onnx.files.opened_files import noting_files
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.runtime.executable.executable import Executable
from baton._src.support.diagnostics import fail
from baton._src.transform.collector import collect_recent
from baton._src.transform.context import PassContext

_LARGE = 1 << 25
"""Bytes of constants above which their remnants are collected at once."""


def compile_program(
    model: Any,
    target: Target,
    options: Options,
    shapes: Mapping[str, Any] | None,
    params: Mapping[str, Any] | None,
    key: ProgramKey | None,
) -> Model:
    """See `compile`; with a `key` the result is cached under it."""
    wire()
    stages = Stages(keep=options.keep_stages)
    start = time.perf_counter()
    with (
        with_tunings(target, options.num_threads),  # outside: the caller's settings say whether
        _at_level(options.opt_level),
        noting_files() as files,
    ):
        module, bound = read_program(model, shapes, params)
        _check_entry(module)
        executable = relax_build(module, target, bound, exec_mode=options.exec_mode, stages=stages)
    del module, bound
    _release_weights(executable)
    if key is not None:
        keep_program(key, executable, files, time.perf_counter() - start)
    return Model(executable, num_threads=options.num_threads, stages=stages)


def _check_entry(module: IRModule) -> None:
    """Error `program-entry`: there is no function `main`, which a Model calls."""
    if "main" not in module:
        there = ", ".join(var.name_hint for var in module.functions) or "none"
        raise fail(
            "program-entry",
            f"the module has no function 'main', which calls of a compiled model run; it has: {there}",
            help="relax.build(module) and relax.VirtualMachine take modules of any functions",
        )


@contextmanager
def _at_level(opt_level: int) -> Iterator[None]:
    """The caller's PassContext (settings, passes required and disabled, instruments) with another level."""
    around = PassContext.current()
    with PassContext(opt_level, around.required_pass, around.disabled_pass, config=around.config) as context:
        context.instruments = around.instruments  # entered already, and left by the context around this one
        try:
            yield
        finally:
            around.instruments, context.instruments = context.instruments, []


def _release_weights(executable: Executable) -> None:
    """Free remnants of large weights now, rather than when Python's collector gets to them.

    Readers and IR form reference cycles that hold the weights as they were in the file, which doubles the memory of the
    model. For small models this is not worth a collection.
    """
    size = executable.constant_bytes
    if size >= _LARGE:
        collect_recent()
