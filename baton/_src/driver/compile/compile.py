"""`compile`: compile a file, a module or a function to a `Model`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from baton._src.driver.compile.program_cache import cached_program, program_key
from baton._src.driver.model.load import loaded_model
from baton._src.driver.model.model import Model
from baton._src.driver.stages import Options
from baton._src.driver.targets import chosen_target
from baton._src.driver.tuning_records.in_force import best_kernels
from baton._src.driver.tuning_records.version import tuning_version
from baton._src.transform.context import PassContext

_COMPILER = "baton._src.driver.compile.start_compiler"
"""Imported when there is something to compile: that takes longer than loading what was compiled before."""


def compile(
    model: Any,
    num_threads: int | None = None,
    target: Any = None,
    opt_level: int = 3,
    *,
    params: Mapping[str, Any] | None = None,
    shapes: Mapping[str, Any] | None = None,
    exec_mode: str = "compiled",
    keep_stages: bool = False,
) -> Model:
    """Compile a model for this machine.

    `model`: the path of an `.onnx`, a `.pt2` (PyTorch), a Relay text (`.relay`, `.rly`) or a TVMScript (`.py`) file; an
    ONNX `ModelProto`, a `torch.export.ExportedProgram`, an `IRModule`, a `relay.Function` or a `relax.Function`.
    `params` binds parameters by name; `shapes` gives an ONNX model's inputs the shapes (ints, or names of symbolic
    dims) that it leaves open. An ONNX file that was compiled before comes from the cache, unless anything that affects
    the outcome has changed. The current PassContext applies, except for its level, which is `opt_level`. `num_threads`:
    threads of each call (None: all cores). `exec_mode`: "compiled", or "bytecode" to run each kernel call as an
    instruction of the virtual machine. `keep_stages`: keep the program after every pass, for `Model.stage`.

    Raises `DiagnosticError` for files that cannot be read, programs that are wrong, operators that are not supported.
    """
    found = chosen_target(target)
    settings = None if keep_stages else _settings(opt_level, exec_mode, tuning_version(found, num_threads))
    key = None if settings is None else program_key(model, found, settings, shapes, params)
    kept = None if key is None else cached_program(key, found)
    if kept is not None:
        return loaded_model(kept, num_threads)
    options = Options(opt_level, exec_mode, num_threads, keep_stages)
    compiled: Model = import_module(_COMPILER).start_compiler(model, found, options, shapes, params, key)
    return compiled


def _settings(*options: object) -> str | None:
    """The options and everything else in force that affects the result, as text. None where no text can tell: functions
    among a context's settings, the script's own database of schedules, instruments (for which passes have to run)."""
    context = PassContext.current()
    config = sorted(context.config.items(), key=lambda i: i[0])
    if context.instruments or best_kernels() is not None or not all(_is_plain(value) for _, value in config):
        return None
    return repr((*options, context.required_pass, context.disabled_pass, config))


def _is_plain(value: Any) -> bool:
    """Whether a setting consists of numbers and strings, in lists and dicts."""
    if isinstance(value, Mapping):
        return all(_is_plain(part) for pair in value.items() for part in pair)
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))
