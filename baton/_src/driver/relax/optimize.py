"""Which passes a build runs, in order, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.lower.pack_weights import PackWeights
from baton._src.lower.transform_weights import TransformWeights
from baton._src.passes.pipelines import default, get_pipeline
from baton._src.passes.relax.bindings.lambda_lift import LambdaLift
from baton._src.passes.relax.bindings.normalize import Normalize
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.passes.tir.lowering.safe_selects import with_safe_kernels
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass, Sequential

Note = Callable[[str, IRModule], None]

PREPARE: tuple[Pass, ...] = (
    Normalize(),  # programs built by hand may be nested
    LambdaLift(),  # the VM calls functions of the module only
)
PLAIN: tuple[Pass, ...] = (LegalizeOps(),)
"""The passes that a program needs to run at all."""

LAYOUTS: tuple[Pass, ...] = (TransformWeights(), PackWeights())
"""The passes that prepare operands for schedules; kernels are final here."""

LOWERING = "default_build"
"""TVM's name for what comes before code generation; here that is `default`, and lowering plans memory itself."""


def optimize(module: IRModule, target: Target, pipeline: Any, note: Note) -> IRModule:
    """`module` after the passes of `pipeline`; `note` is told the module after each one.

    `pipeline` is a name, a pass (or any function from modules to modules) that runs before what is always needed, or
    None for a module that is ready to be lowered.
    """
    if pipeline is None:
        return module
    context = PassContext.current()
    with target:
        for one in _passes(pipeline):
            if not isinstance(one, Pass) or one.name in _NEEDED or context.pass_enabled(one.info):
                module = one(module)
                if one is not with_safe_kernels:
                    note(getattr(one, "name", "pipeline"), module)
    return module


_NEEDED = {p.name for p in (*PREPARE, *PLAIN)}
"""Passes that run at every optimisation level: programs do not run without them."""


def _passes(pipeline: Any) -> tuple[Callable[[IRModule], IRModule], ...]:
    """The passes, and what is required of kernels that those of a script may have added."""
    if isinstance(pipeline, str):
        if pipeline == "plain":
            return (*PREPARE, *PLAIN)
        if pipeline in ("default", LOWERING):
            return (*default(), *LAYOUTS)
        return (*PREPARE, *_steps(get_pipeline(pipeline)), with_safe_kernels, *PLAIN)
    if callable(pipeline):
        return (*PREPARE, pipeline, with_safe_kernels, *PLAIN)
    raise fail("api", f"a {type(pipeline).__name__} is not a pipeline", help="give a name, a pass, or None")


def _steps(pipeline: Pass) -> tuple[Pass, ...]:
    """The passes of a pipeline one by one, so that each is noted."""
    return pipeline.passes if isinstance(pipeline, Sequential) else (pipeline,)
