"""Read a model in any of the accepted forms as a Relax module and its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np

from baton._src.driver.model.border import as_string
from baton._src.driver.wiring import is_relay
from baton._src.frontends.onnx.relax_graph import from_onnx
from baton._src.frontends.onnx.strings import ModelStrings
from baton._src.ir.module import IRModule
from baton._src.relax import nodes as relax
from baton._src.relay import nodes as relay
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.values.convert import from_host, to_numpy
from baton._src.values.tensor import AnyArray, NDArray

Program = tuple[IRModule, dict[str, Any]]

_TEXTS = "baton._src.driver.compile.read_text"
_RELAY = "baton._src.lower.relay_to_relax.module"
_TORCH = "baton._src.frontends.torch.relax_graph"
_ARCHIVE = "baton._src.frontends.torch.programs.archive"
_TFLITE = "baton._src.frontends.tflite.relax_graph"
"""Imported only by the models that need it."""
_ONNX_FILES = (".onnx", ".onnxtxt", ".onnxtext", ".onnxjson", ".textproto", ".txtpb", ".pbtxt", ".prototxt")
"""Extensions of ONNX files: binary, and text as `onnx.save` writes it."""
_PICKLES = (".pt", ".pth", ".ckpt", ".bin", ".pkl")
"""Extensions of files that PyTorch's `torch.save` and `torch.jit.save` write."""


def read_program(
    model: Any, shapes: Mapping[str, Any] | None = None, params: Mapping[str, Any] | None = None
) -> Program:
    """The module, and the parameters that are left to bind (an ONNX model's inputs are bound while it is imported).

    Raises `DiagnosticError` for what cannot be read.
    """
    given = dict(params or {})
    if isinstance(model, (str, PathLike)):
        return _read_file(Path(model), shapes, given)
    if isinstance(model, (bytes, bytearray)):  # of an ONNX file: no other kind of model is given so
        return _from_onnx(model, shapes, given)
    if shapes and isinstance(model, (IRModule, relax.Function, relay.Function)):
        raise _declared()
    if isinstance(model, IRModule):
        return as_relax(model), given
    if isinstance(model, relax.Function):
        return IRModule({"main": model.with_attr("global_symbol", "main")}), given
    if isinstance(model, relay.Function):
        return as_relax(IRModule({"main": model})), given
    if hasattr(model, "SerializeToString") and hasattr(model, "graph"):
        return _from_onnx(model, shapes, given)
    if hasattr(model, "graph_signature") and hasattr(model, "run_decompositions"):
        return _from_torch(model, shapes, given)
    raise fail(
        "model-kind",
        f"cannot compile a {type(model).__name__}",
        help="give a path, an IRModule, a relay.Function, a relax.Function, an ONNX ModelProto or its bytes, or the "
        "ExportedProgram that torch.export.export makes of a PyTorch module",
    )


def _declared() -> DiagnosticError:
    """The error of shapes that are given for what declares its own."""
    help = "Relax: bind sizes by function.bind_symbolic_vars({name: size}); Relay: declare the parameters so"
    return fail("api", "shapes are for ONNX models: the parameters of this program declare theirs", help=help)


def _from_onnx(model: Any, shapes: Mapping[str, Any] | None, params: dict[str, Any]) -> Program:
    values = {str(n): _array(v) for n, v in params.items()}
    return from_onnx(model, shapes, sanitize_input_names=False, values=values, strings=ModelStrings()), {}


def _from_torch(exported: Any, shapes: Mapping[str, Any] | None, params: dict[str, Any]) -> Program:
    if shapes:
        help = "torch.export.export(..., dynamic_shapes=...) leaves sizes open"
        raise fail("torch-input", "the shapes of an exported program's inputs are fixed when exporting", help=help)
    return import_module(_TORCH).from_exported_program(exported), params


def _from_tflite(path: Path, shapes: Mapping[str, Any] | None, params: dict[str, Any]) -> Program:
    if params:
        help = "the weights of such a model are constants; give its inputs when it runs"
        raise fail("tflite-input", "a TensorFlow Lite model has no parameters to bind", help=help)
    return import_module(_TFLITE).from_tflite(path, shapes), {}


def _array(value: Any) -> AnyArray:
    if isinstance(value, np.ndarray) and value.dtype.kind in "OSU":  # strings
        return np.array([as_string(t) for t in value.reshape(-1).tolist()], dtype=object).reshape(value.shape)
    found = from_host(value)
    if isinstance(found, NDArray):
        return to_numpy(found)
    return np.asarray(value)


def _read_file(path: Path, shapes: Mapping[str, Any] | None, params: dict[str, Any]) -> Program:
    suffix = path.suffix.lower()
    if not path.is_file():
        message = f"{path} is a folder, not a file" if path.is_dir() else f"there is no file {path}"
        raise fail("file-missing", message, help=f"paths are relative to {Path.cwd()}")
    if suffix in _ONNX_FILES:
        return _from_onnx(path, shapes, params)
    if suffix == ".pt2":
        return _from_torch(import_module(_ARCHIVE).read_archive(path), shapes, params)
    if suffix in _PICKLES:
        raise fail(
            "model-kind",
            f"{path} is a pickle, and reading one runs what its author wrote",
            help="export the model: torch.export.save(torch.export.export(module, inputs), 'model.pt2')",
        )
    if suffix == ".tflite":
        return _from_tflite(path, shapes, params)
    if suffix in (".relay", ".rly"):
        return read_program(import_module(_TEXTS).read_relay(path), shapes, params)
    if suffix == ".py":
        return read_program(import_module(_TEXTS).read_script(path), shapes, params)
    if is_zipfile(path):
        message = f"{path} is an artifact or another archive, not a model that can be compiled"
        raise fail("model-kind", message, help="baton run and baton.load take artifacts; give the model it was made of")
    raise fail(
        "model-kind",
        f"cannot tell what {path} is",
        help="model files end in .onnx (text: .textproto, .onnxjson, .onnxtxt), .pt2 (PyTorch), "
        ".tflite, .relay or .rly (Relay text), or .py (TVMScript)",
    )


def as_relax(module: IRModule) -> IRModule:
    """A module with Relay functions lowered to Relax; one of Relax as it is."""
    if not is_relay(module):
        return module
    lowered: IRModule = import_module(_RELAY).lower(module)
    return lowered
