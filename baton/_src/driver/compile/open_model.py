"""Open a model file or an artifact, whichever it is, as a `Model`."""

from __future__ import annotations

from pathlib import Path

from baton._src.driver.compile.compile import compile as compile_model
from baton._src.driver.model.load import load
from baton._src.driver.model.model import Model
from baton._src.support.diagnostics import fail

_ZIP = b"PK\x03\x04"
_MODELS = (".pt2", ".pt", ".pth")
"""File extensions of zip files that are PyTorch models, or are refused as such."""


def open_model(
    path: str | Path, num_threads: int | None = None, keep_stages: bool = False, verify: bool = False
) -> Model:
    """Load an artifact (`verify`: with a look at its weights), or compile a model file.

    Errors as those of `compile` and `load`."""
    source = Path(path)
    try:
        with source.open("rb") as stream:
            start = stream.read(len(_ZIP))
    except OSError as error:
        raise fail("file-missing", f"cannot read {source}: {error.strerror or error}") from error
    if start == _ZIP and source.suffix.lower() not in _MODELS:
        return load(source, num_threads, verify=verify)
    return compile_model(source, num_threads, keep_stages=keep_stages)
