"""Models of other frameworks as Relay: one reader for each format, chosen by name or by how the file's name ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar
from zipfile import ZipFile, is_zipfile

from baton._src.driver.tvm_names.param_names import with_params
from baton._src.driver.tvm_names.tvmc.errors import TVMCImportError, raising_tvmc, refuse
from baton._src.driver.tvm_names.tvmc.model import TVMCModel
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.ir.types import TensorType
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.nodes import Function, Var
from baton._src.support.diagnostics import Diagnostic
from baton._src.tir.expr import AnyDim, IntImm

Shapes = Mapping[str, Sequence[Any]]
Loaded = tuple[IRModule, dict[str, Any]]

_ELSEWHERE = "save the model as ONNX; tf2onnx, paddle2onnx and likes write it"
_REFUSED = {"keras": ("h5", "keras"), "pb": ("pb",), "paddle": ("pdmodel",)}
"""Formats that TVM reads and baton does not, and how their files end."""


class Frontend(ABC):
    """Reads one format."""

    names: ClassVar[tuple[str, ...]]
    """The format's name, then the endings of its files."""

    @classmethod
    def name(cls) -> str:
        """The name of the format in `model_format`."""
        return cls.names[0]

    @classmethod
    def suffixes(cls) -> list[str]:
        """The suffixes of its files, without the dot."""
        return list(cls.names[1:])

    @abstractmethod
    def load(self, path: str | Path, shape_dict: Shapes | None = None, **kwargs: Any) -> Loaded:
        """The module in a file and its parameters; `kwargs` are those of the importer in `relay.frontend`."""


class OnnxFrontend(Frontend):
    """ONNX models."""

    names = ("onnx", "onnx")

    def load(self, path: str | Path, shape_dict: Shapes | None = None, **kwargs: Any) -> Loaded:
        """`relay.frontend.from_onnx` of the file."""
        from_onnx = import_module("baton._src.frontends.onnx.relay_graph").from_onnx
        loaded: Loaded = from_onnx(path, shape=shape_dict, **kwargs)
        return loaded


class PyTorchFrontend(Frontend):
    """PyTorch programs: exported (`.pt2`), or TorchScript, which PyTorch runs once on the shapes given."""

    names = ("pytorch", "pth", "zip", "pt", "pt2")

    def load(self, path: str | Path, shape_dict: Shapes | None = None, **kwargs: Any) -> Loaded:
        """`relay.frontend.from_pytorch` of TorchScript; the program that `torch.export.save` wrote."""
        graphs = _with_torch("baton._src.frontends.torch.relay_graph")
        if Path(path).suffix.lower() == ".pt2":
            if shape_dict:
                help = "torch.export.export(..., dynamic_shapes=...) leaves sizes open"
                raise refuse("the shapes of an exported program's inputs are fixed when exporting", help)
            archive = _with_torch("baton._src.frontends.torch.programs.archive").read_archive(Path(path))
            exported: Loaded = graphs.from_exported(archive)
            return exported
        if shape_dict is None:
            raise refuse("--input-shapes must be specified for pytorch", 'shape_dict={"input0": [1, 3, 224, 224]}')
        script = _torchscript(Path(path))
        traced: Loaded = graphs.from_pytorch(script, [(n, tuple(s)) for n, s in shape_dict.items()], **kwargs)
        return traced


class TFLiteFrontend(Frontend):
    """TensorFlow Lite models."""

    names = ("tflite", "tflite")

    def load(self, path: str | Path, shape_dict: Shapes | None = None, **kwargs: Any) -> Loaded:
        """`relay.frontend.from_tflite` of the file."""
        from_tflite = import_module("baton._src.frontends.tflite.relay_graph").from_tflite
        loaded: Loaded = from_tflite(path, shape_dict, **kwargs)
        return loaded


class RelayFrontend(Frontend):
    """Relay's text format. Parameters of `main` stay inputs: no weights are made up for them."""

    names = ("relay", "relay", "rly")

    def load(self, path: str | Path, shape_dict: Shapes | None = None, **kwargs: Any) -> Loaded:
        """The module that the text defines; shapes given replace open ones (`?`)."""
        if kwargs:
            raise refuse(f"Relay texts are read without the option {next(iter(kwargs))!r}")
        module = import_module("baton._src.driver.compile.read_text").read_relay(Path(path))
        return (_with_shapes(module, shape_dict) if shape_dict else module), {}


def _with_torch(module: str) -> Any:
    try:
        import_module("torch")
    except ImportError as error:
        message = "models of PyTorch are read with the package torch, which is not installed"
        raise TVMCImportError(Diagnostic("tvmc", message, help="pip install torch")) from error
    return import_module(module)


def _torchscript(path: Path) -> Any:
    """The module in an archive of TorchScript; other files of PyTorch are pickles, which are not read."""
    if not is_zipfile(path) or not any("/code/" in name for name in ZipFile(path).namelist()):
        help = "torch.jit.save(torch.jit.trace(module, example), path), or torch.export.save for a .pt2 file"
        raise refuse(f"{path} holds no TorchScript, and baton reads no pickles", help)
    torch: Any = import_module("torch")
    try:
        return torch.jit.load(path, map_location="cpu").eval()
    except (RuntimeError, ValueError) as error:
        raise refuse(f"{path} is damaged: {str(error).splitlines()[0]}") from error


def _with_shapes(module: IRModule, shapes: Shapes) -> IRModule:
    """The module with the open sizes of `main`'s parameters as given; what contradicts the text is refused."""
    main = module["main"]
    assert isinstance(main, Function)
    known = {p.name_hint: p for p in main.params}
    for name in shapes:
        if name not in known:
            raise refuse(f"main has no input {name!r}", f"it has: {', '.join(known) or 'none'}")
    params = [Var(n, _narrowed(p, shapes[n])) if n in shapes else p for n, p in known.items()]
    made = with_params(main.with_fields(ret_annotation=None), params)
    return infer_type(module.with_function(module.get_global_var("main"), made))


def _narrowed(param: Any, shape: Sequence[Any]) -> TensorType:
    declared = param.type_annotation
    written = declared.shape if isinstance(declared, TensorType) and isinstance(declared.shape, tuple) else None
    if written is None or len(written) != len(shape):
        raise refuse(f"input {param.name_hint!r} is declared {declared}, which has no shape {list(shape)}")
    for have, given in zip(written, shape):
        if isinstance(have, IntImm) and not isinstance(given, AnyDim) and have.value != given:
            help = "the sizes in the text are fixed; write ? for those that --input-shapes is to say"
            raise refuse(f"input {param.name_hint!r} is declared {declared}, not of shape {list(shape)}", help)
    dims = [have if isinstance(have, IntImm) else given for have, given in zip(written, shape)]
    return TensorType(dims, declared.dtype)


ALL_FRONTENDS: list[type[Frontend]] = [OnnxFrontend, PyTorchFrontend, TFLiteFrontend, RelayFrontend]


def get_frontend_names() -> list[str]:
    """The formats that are read."""
    return [frontend.name() for frontend in ALL_FRONTENDS]


def get_frontend_by_name(name: str) -> Frontend:
    """The reader of a format. `TVMCException` for formats that are not read."""
    for frontend in ALL_FRONTENDS:
        if frontend.name() == name:
            return frontend()
    known = f"Choose from: {get_frontend_names()}"
    if name in _REFUSED:
        raise refuse(f"baton does not read models of the format {name!r}. {known}", _ELSEWHERE)
    raise refuse(f"unrecognized frontend {name!r}. {known}")


def guess_frontend(path: str | Path) -> Frontend:
    """The reader of files that end like this one."""
    suffix = Path(path).suffix.lower().lstrip(".")
    for frontend in ALL_FRONTENDS:
        if suffix in frontend.suffixes():
            return frontend()
    for name, endings in _REFUSED.items():
        if suffix in endings:
            return get_frontend_by_name(name)
    raise refuse("failed to infer the model format. Please specify --model-format", f"one of {get_frontend_names()}")


@raising_tvmc
def load_model(
    path: str | Path, model_format: str | None = None, shape_dict: Shapes | None = None, **kwargs: Any
) -> TVMCModel:
    """The model in a file, as Relay.

    `model_format`: a name of `get_frontend_names()`, else told by the file's ending. `shape_dict`: shapes of inputs by
    name. `kwargs` go to the importer. Raises `TVMCException`.
    """
    wire()
    frontend = get_frontend_by_name(model_format) if model_format is not None else guess_frontend(path)
    if not Path(path).is_file():
        raise refuse(f"Input file '{path}' doesn't exist, is a broken symbolic link, or a directory.")
    return TVMCModel(*frontend.load(path, shape_dict, **kwargs))
