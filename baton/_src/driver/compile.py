"""`compile`: from a file, a module or a function to a `Model`."""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from typing import Any

from baton._src.driver.load import loaded_model
from baton._src.driver.model import Model
from baton._src.driver.program_cache import cached_program, keep_program, program_key
from baton._src.driver.read_program import read_program
from baton._src.driver.relax_build import relax_build
from baton._src.driver.stages import Stages
from baton._src.driver.targets import chosen_target
from baton._src.driver.wiring import wire
from baton._src.frontends.onnx.opened_files import noting_files
from baton._src.runtime.executable import Executable
from baton._src.transform.context import PassContext
from baton._src.values.tensor import NDArray

_LARGE = 1 << 25
"""Bytes of constants from which on their remains are collected at once."""


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

    `model`: the path of an `.onnx`, a Relay text (`.relay`, `.rly`) or a TVMScript (`.py`) file; an ONNX `ModelProto`;
    an `IRModule` (Relay or Relax), a `relay.Function` or a `relax.Function`. `params` binds parameters by name;
    `shapes` gives an ONNX model's inputs the shapes (ints, or names of symbolic dims) that it leaves open.
    An ONNX file that was compiled before, and all that decides the outcome is as it was, comes from the cache.
    `num_threads`: threads of each call (None: all cores). `keep_stages`: keep the program after every pass, for
    `Model.stage`.

    Raises `DiagnosticError` for files that cannot be read, programs that are wrong, operators that are not supported.
    """
    wire()
    found = chosen_target(target)
    stages = Stages(keep=keep_stages)
    key = None if keep_stages else program_key(model, found, f"{opt_level} {exec_mode}", shapes, params)
    kept = None if key is None else cached_program(key, found)
    if kept is not None:
        return loaded_model(kept, num_threads)
    start = time.perf_counter()
    with PassContext(opt_level=opt_level), noting_files() as files:
        module, bound = read_program(model, shapes, params)
        executable = relax_build(module, found, bound, exec_mode=exec_mode, stages=stages)
    del module, bound
    _release_weights(executable)
    if key is not None:
        keep_program(key, executable, files, time.perf_counter() - start)
    return Model(executable, num_threads=num_threads, stages=stages)


def _release_weights(executable: Executable) -> None:
    """Free what reading and compiling left of large weights now, not when Python's collector comes around to it.

    Readers and IR refer to each other in cycles that hold the weights as they were in the file: as much again as the
    model itself. Looking for them takes a tenth of a second, which small models are not worth.
    """
    size = sum(c.data.nbytes for c in executable.constants if isinstance(c, NDArray))
    if size >= _LARGE:
        gc.collect()
