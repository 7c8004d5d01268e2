"""`relax.pipeline`: the named pipelines as the functions that TVM's scripts call."""

from __future__ import annotations

from baton._src.passes.pipelines import get_pipeline
from baton._src.transform.passes import Pass


def zero_pipeline(*, enable_warning: bool = False) -> Pass:
    """The pipeline `zero`: kernels of operators, fused."""
    return get_pipeline("zero")


def default_build_pipeline() -> Pass:
    """The pipeline `default_build`: everything that the machine's code is made from becomes visible."""
    return get_pipeline("default_build")


def get_default_pipeline(target: object = None) -> Pass:
    """What `relax.build` does by default; it is the same for every CPU."""
    return get_pipeline("default_build")
