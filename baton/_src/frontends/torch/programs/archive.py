"""Read `.pt2` files without executing anything in them.

`torch.export.load` unpickles example inputs and constants, evaluates the expressions of sizes and looks functions up by
any name. Here pickles are refused or ignored, expressions must be arithmetic, and only aten operators may be named; the
rest is passed to PyTorch's own reader.
"""

from __future__ import annotations

import ast
import json
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.sizes import SIZES
from baton._src.support.diagnostics import DiagnosticError, fail

_ROOT = "models/model.json"
_CONFIGS = {
    "data/weights/model_weights_config.json": "data/weights/model.pt",
    "data/constants/model_constants_config.json": "data/constants/model.pt",
}
"""Descriptions of tensors, and the pickles that PyTorch would read in their place if they existed."""
_FUNCTIONS = {
    "Symbol", "Integer", "Float", "Rational", "Add", "Mul", "Pow", "FloorDiv", "CleanDiv", "IntTrueDiv", "Mod",
    "PythonMod", "Max", "Min", "Equality", "Unequality", "StrictLessThan", "LessThan", "StrictGreaterThan",
    "GreaterThan", "ToFloat", "CeilToInt", "FloorToInt", "TruncToInt",
}  # fmt: skip
"""Functions that expressions of sizes may call."""
_SYNTAX = (
    ast.Expression, ast.Call, ast.Name, ast.Constant, ast.keyword, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop,
    ast.Load, ast.Compare, ast.cmpop,
)  # fmt: skip
_FOREIGN = ("as_custom_obj", "as_operator", "as_graph", "as_opaque_value")
"""Arguments that are neither tensors nor numbers."""


def read_archive(path: Path) -> Any:
    """The `ExportedProgram` in a file that `torch.export.save` wrote.

    Raises `torch-file`: damaged files, pickles among its parts, or expressions or operators that programs do not
    contain.
    """
    torch_library()
    package = import_module("torch.export.pt2_archive._package")
    with path.open("rb") as stream:
        _check_sizes(path, stream)
        stream.seek(0)
        try:
            with package.PT2ArchiveReader(stream) as reader:
                return _read(path, package, reader)
        except DiagnosticError:
            raise
        except Exception as error:  # whatever PyTorch raises for damaged files
            _refuse(path, f"it cannot be read: {str(error).strip().splitlines()[0] if str(error).strip() else error!r}")


def _refuse(path: Path, reason: str) -> NoReturn:
    raise fail("torch-file", f"{path}: {reason}", help="write the file with torch.export.save(exported, 'model.pt2')")


def _check_sizes(path: Path, stream: Any) -> None:
    """Parts are stored uncompressed, so the file size bounds what is allocated."""
    try:
        with zipfile.ZipFile(stream) as archive:
            entries = archive.infolist()
    except zipfile.BadZipFile:
        _refuse(path, "it is not an archive")
    if any(e.compress_type != zipfile.ZIP_STORED for e in entries):
        _refuse(path, "parts of it are compressed, which torch.export.save never does")


def _read(path: Path, package: Any, reader: Any) -> Any:
    names = set(reader.get_file_names())
    if _ROOT not in names:
        _refuse(path, "there is no exported program in it")
    for config, old in _CONFIGS.items():
        if config not in names or old in names:
            _refuse(path, "its tensors are stored as pickles, as older versions of PyTorch did: save it again")
        _check_payloads(path, package._load_payload_config(reader, config).config)
    content = _checked(path, json.loads(reader.read_bytes(_ROOT)))
    serialize, schema = (import_module(f"torch._export.serde.{m}") for m in ("serialize", "schema"))
    program = serialize._bytes_to_dataclass(schema.ExportedProgram, json.dumps(content).encode())
    weights, constants = package._load_state_dict(reader, "model"), package._load_constants(reader, "model")
    return serialize.ExportedProgramDeserializer().deserialize(program, weights, constants, b"")


def _check_payloads(path: Path, payloads: Any) -> None:
    for name, payload in payloads.items():
        if payload.use_pickle or not payload.path_name.startswith(("weight_", "tensor_")):
            _refuse(path, f"{name!r} is stored as a pickle, and reading one runs what its author wrote")


def _checked(path: Path, content: Any) -> Any:
    """The program's description without parts that compilation does not need, after checking that the rest is
    harmless.
    """
    content["guards_code"] = [str(guard) for guard in content.get("guards_code", [])]
    for guard in content["guards_code"]:
        _check_guard(path, guard)
    for part in _parts(content):
        if "expr_str" in part:
            _check_expression(path, part["expr_str"])
        if isinstance(part.get("target"), str) and isinstance(part.get("inputs"), list):
            _check_operator(path, part["target"])
            trace = part.get("metadata", {}).get("stack_trace")
            part["metadata"] = {"stack_trace": str(trace)} if trace else {}
        if any(part.get(key) is not None for key in _FOREIGN):
            _refuse(path, "an operator has an argument that is neither a tensor nor a number")
    for symbol in content.get("range_constraints", {}):
        _check_expression(path, symbol)
    return content


def _check_guard(path: Path, guard: str) -> None:
    """Guards are parsed as comparisons, and never executed: they must only be valid Python."""
    try:
        ast.parse(guard, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        _refuse(path, f"{guard!r} is not a comparison of sizes")


def _parts(content: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value."""
    pending = [content]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            yield part
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)


def _check_operator(path: Path, target: str) -> None:
    plain = target.startswith("torch.ops.aten.") and "from_file" not in target
    if not plain and target not in SIZES:
        _refuse(path, f"it calls {target}, which is not an operator of aten")


def _check_expression(path: Path, text: Any) -> None:
    """Sizes are written as calls of a few functions on symbols and numbers."""
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
    except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError):
        _refuse(path, f"{text!r} is not a size")
    for node in nodes:
        plain = isinstance(node, _SYNTAX)
        if isinstance(node, ast.Call):
            plain = isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
        elif isinstance(node, ast.Name):
            plain = node.id in _FUNCTIONS or (node.id[0] in "suz" and node.id[1:].isdigit())
        elif isinstance(node, ast.Constant):
            plain = isinstance(node.value, (int, float, bool)) or str(node.value).isidentifier()
        if not plain:
            _refuse(path, f"{text!r} is not a size")
