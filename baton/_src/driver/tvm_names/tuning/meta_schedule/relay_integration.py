"""Tuning Relay programs: the kernels that compiling makes as tasks, records of those, and compiling with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from baton._src.driver.relay import vm
from baton._src.driver.relay.build import build as relay_build
from baton._src.driver.relay.executable import as_relay_module, build_executable
from baton._src.driver.targets import chosen_target
from baton._src.driver.tuning_records.in_force import best_kernels, without_best_kernels
from baton._src.driver.tvm_names.tuning.meta_schedule.database import Database, check_equality
from baton._src.driver.tvm_names.tuning.meta_schedule.extracted import ExtractedTask, extracted_task, tune_extracted
from baton._src.driver.tvm_names.tuning.program_kernels import program_kernels
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.relay.nodes import Function
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext

PASS_CONFIG = {"relay.backend.use_meta_schedule": True, "relay.backend.tir_converter": "default"}
BACKENDS = ("graph", "vm")


def extract_tasks(
    mod: IRModule | Function,
    target: Any,
    params: Mapping[str, Any] | None,
    *,
    opt_level: int = 3,
    pass_config: Mapping[str, Any] | None = None,
    executor: Any = None,
    runtime: Any = None,
    module_equality: str = "structural",
    disabled_pass: Sequence[str] | None = None,
    instruments: Sequence[Any] | None = None,
) -> list[ExtractedTask]:
    """The kernels of a program that can be measured, each with the number of its calls."""
    wire()
    check_equality(module_equality)
    module, found = as_relay_module(mod), chosen_target(target)
    context = _context(opt_level, pass_config, disabled_pass, instruments)
    with found, context, without_best_kernels():
        kernels = program_kernels(lambda: build_executable(module, found, params)[0])
    return [extracted_task(kernel, found) for kernel in kernels]


def _context(
    opt_level: int,
    pass_config: Mapping[str, Any] | None,
    disabled_pass: Sequence[str] | None,
    instruments: Sequence[Any] | None,
) -> PassContext:
    config = dict(PASS_CONFIG if pass_config is None else pass_config)
    disabled = list(disabled_pass or ())
    return PassContext(opt_level=opt_level, config=config, disabled_pass=disabled, instruments=list(instruments or ()))


def tune_relay(
    mod: IRModule | Function,
    params: Mapping[str, Any] | None,
    target: Any,
    work_dir: str | Path,
    max_trials_global: int,
    *,
    opt_level: int = 3,
    module_equality: str = "structural",
    disabled_pass: Sequence[str] | None = None,
    instruments: Sequence[Any] | None = None,
    **options: Any,
) -> Database:
    """Tune the kernels of a program.

    `options` are those of `tune_extracted` (`space`, `strategy`, `seed`) and of `tune_tasks`.
    """
    extracted = extract_tasks(
        mod,
        target,
        params,
        opt_level=opt_level,
        module_equality=module_equality,
        disabled_pass=disabled_pass,
        instruments=instruments,
    )
    return tune_extracted(
        extracted, work_dir, max_trials_global=max_trials_global, module_equality=module_equality, **options
    )


def compile_relay(
    database: Database,
    mod: IRModule | Function,
    target: Any,
    params: Mapping[str, Any] | None,
    *,
    backend: str = "graph",
    opt_level: int = 3,
    pass_config: Mapping[str, Any] | None = None,
    executor: Any = None,
    disabled_pass: Sequence[str] | None = None,
    runtime: Any = None,
    instruments: Sequence[Any] | None = None,
) -> Any:
    """Compile a program with the records of a database: what `relay.build` gives, or `relay.vm.compile`."""
    wire()
    if backend not in BACKENDS:
        raise fail("api", f"there is no backend {backend!r}", help=f"one of {', '.join(BACKENDS)}", kind=ValueError)
    found = chosen_target(target)
    with found, database, _context(opt_level, pass_config, disabled_pass, instruments):
        if backend == "vm":
            return vm.compile(mod, target=found, params=params)
        return relay_build(mod, found, executor=executor or "graph", runtime=runtime, params=params)


def is_meta_schedule_enabled() -> bool:
    """Whether a database is in force, or the setting `relay.backend.use_meta_schedule` is on."""
    return best_kernels() is not None or bool(PassContext.current().setting("relay.backend.use_meta_schedule"))
