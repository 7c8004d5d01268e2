"""Whatever a user calls a model, as a Relax module, and the parameters it comes with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from baton._src.frontends.onnx.relax_graph import from_onnx
from baton._src.ir.module import IRModule
from baton._src.relax import nodes as relax
from baton._src.relay import nodes as relay
from baton._src.support.diagnostics import fail

Program = tuple[IRModule, dict[str, Any]]


def read_program(model: Any, shapes: Mapping[str, Any] | None = None) -> Program:
    """The module, and parameters to bind. Raises `DiagnosticError` for what cannot be read."""
    if isinstance(model, (str, Path)):
        return _read_file(Path(model), shapes)
    if isinstance(model, IRModule):
        return as_relax(model), {}
    if isinstance(model, relax.Function):
        return IRModule({"main": model.with_attr("global_symbol", "main")}), {}
    if isinstance(model, relay.Function):
        return as_relax(IRModule({"main": model})), {}
    if hasattr(model, "SerializeToString") and hasattr(model, "graph"):
        return from_onnx(model, shapes), {}
    raise fail(
        "model-kind",
        f"cannot compile a {type(model).__name__}",
        help="give a path, an IRModule, a relay.Function, a relax.Function or an ONNX ModelProto",
    )


def _read_file(path: Path, shapes: Mapping[str, Any] | None) -> Program:
    suffix = path.suffix.lower()
    if not path.is_file():
        raise fail("file-missing", f"there is no file {path}")
    if suffix == ".onnx":
        return from_onnx(path, shapes), {}
    raise fail(
        "model-kind",
        f"cannot tell what {path} is",
        help="model files end in .onnx, .relay or .rly (Relay text), or .py (TVMScript)",
    )


def as_relax(module: IRModule) -> IRModule:
    """A module with Relay functions lowered to Relax; one of Relax as it is."""
    if any(isinstance(f, relay.Function) for f in module.functions.values()):
        raise fail("model-kind", "Relay modules cannot be compiled yet")
    return module
