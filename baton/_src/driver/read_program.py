"""Whatever a user calls a model, as a Relax module, and the parameters it comes with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from baton._src.driver.wiring import is_relay
from baton._src.frontends.onnx.relax_graph import from_onnx
from baton._src.ir.module import IRModule
from baton._src.lower.relay_to_relax.module import lower as lower_relay
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.text_builders import RELAX_TEXT
from baton._src.relax import nodes as relax
from baton._src.relay import nodes as relay
from baton._src.relay.text.parser import parse as parse_relay
from baton._src.script.entrance import from_source
from baton._src.script.namespaces import script_roots
from baton._src.support.diagnostics import fail
from baton._src.tir.script_names import SCRIPT_NAMES
from baton._src.values.convert import from_host, to_numpy
from baton._src.values.tensor import AnyArray, NDArray

Program = tuple[IRModule, dict[str, Any]]
MODEL_LIMIT = 1 << 28
"""Bytes of a text file beyond which it is not read."""


def read_program(
    model: Any, shapes: Mapping[str, Any] | None = None, params: Mapping[str, Any] | None = None
) -> Program:
    """The module, and the parameters that are left to bind (an ONNX model's inputs are bound while it is imported).

    Raises `DiagnosticError` for what cannot be read.
    """
    given = dict(params or {})
    if isinstance(model, (str, Path)):
        return _read_file(Path(model), shapes, given)
    if isinstance(model, IRModule):
        return as_relax(model), given
    if isinstance(model, relax.Function):
        return IRModule({"main": model.with_attr("global_symbol", "main")}), given
    if isinstance(model, relay.Function):
        return as_relax(IRModule({"main": model})), given
    if hasattr(model, "SerializeToString") and hasattr(model, "graph"):
        return _from_onnx(model, shapes, given)
    raise fail(
        "model-kind",
        f"cannot compile a {type(model).__name__}",
        help="give a path, an IRModule, a relay.Function, a relax.Function or an ONNX ModelProto",
    )


def _from_onnx(model: Any, shapes: Mapping[str, Any] | None, params: dict[str, Any]) -> Program:
    return from_onnx(model, shapes, values={str(n): _array(v) for n, v in params.items()}), {}


def _array(value: Any) -> AnyArray:
    found = from_host(value)
    if isinstance(found, NDArray):
        return to_numpy(found)
    return np.asarray(value)


def _read_file(path: Path, shapes: Mapping[str, Any] | None, params: dict[str, Any]) -> Program:
    suffix = path.suffix.lower()
    if not path.is_file():
        raise fail("file-missing", f"there is no file {path}", help=f"paths are relative to {Path.cwd()}")
    if suffix == ".onnx":
        return _from_onnx(path, shapes, params)
    if suffix in (".relay", ".rly"):
        return as_relax(parse_relay(_text(path), CATALOGUE, source_name=str(path))), params
    if suffix == ".py":
        found = from_source(_text(path), script_roots(RELAX_TEXT, SCRIPT_NAMES), name=str(path))
        return read_program(found, params=params)
    raise fail(
        "model-kind",
        f"cannot tell what {path} is",
        help="model files end in .onnx, .relay or .rly (Relay text), or .py (TVMScript)",
    )


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MODEL_LIMIT:
            raise fail("file-size", f"{path} is too large for a program text")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise fail("file-text", f"cannot read {path} as text: {error}") from error


def as_relax(module: IRModule) -> IRModule:
    """A module with Relay functions lowered to Relax; one of Relax as it is."""
    return lower_relay(module) if is_relay(module) else module
