"""Open an ONNX model without trusting it: no file outside its folder is read, nothing unbounded is allocated."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

import numpy as np

from baton._src.frontends.onnx.files.large_files import LARGE, Malformed, without_weights
from baton._src.frontends.onnx.files.model_folder import ModelFolder
from baton._src.frontends.onnx.files.names import check_names
from baton._src.frontends.onnx.files.opened_files import note_file
from baton._src.support.diagnostics import fail
from baton._src.support.processors import usable_processors
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

MAX_TENSOR_BYTES = 1 << 36
"""Largest size that a tensor of a model may claim (64 GiB): a small crafted file must not exhaust the memory."""


def onnx_library() -> Any:
    """The `onnx` package, imported on first use; a `DiagnosticError` says how to get it."""
    try:
        return importlib.import_module("onnx")
    except ImportError as missing:
        raise fail(
            "onnx-missing", "reading ONNX models needs the onnx package", help='pip install "baton[onnx]"'
        ) from missing


def read_model(source: object) -> tuple[Any, ModelFolder | None]:
    """A `ModelProto` and the folder its external data lies in, from a path, bytes or a `ModelProto`.

    A file's extension gives its format, as for `onnx.load`: text of protocol buffers (.textproto), JSON (.onnxjson),
    ONNX's own text (.onnxtxt), or bytes. Bytes that are given are bytes of protocol buffers.

    Raises `DiagnosticError`: `onnx-file` (missing, truncated, not ONNX), `onnx-external` (data outside the folder).
    """
    onnx = onnx_library()
    if isinstance(source, onnx.ModelProto):
        return source, None
    if isinstance(source, (bytes, bytearray)):
        return _parse(onnx, bytes(source), "<bytes>"), None
    path = Path(source if isinstance(source, os.PathLike) else str(source))
    form = onnx.serialization.registry.get_format_from_file_extension(path.suffix.lower())
    binary = form in (None, "protobuf")
    try:
        content = _messages(path) if binary else path.read_bytes()
    except OSError as error:
        raise fail(
            "onnx-file", f"cannot read {path}: {error.strerror or error}", help="give the path of a .onnx file"
        ) from error
    model = _parse(onnx, content, path.name) if binary else _parse_text(onnx, content, path.name, form)
    return model, ModelFolder.of(path)


def save_named(model: Any, path: str) -> None:
    """Write a copy of `model` in which every node has a name; unnamed ones get their operator's name and a number."""
    copy = type(model)()
    copy.CopyFrom(model)
    for place, node in enumerate(copy.graph.node):
        node.name = node.name or f"{node.op_type}_{place}"
    onnx_library().save(copy, path)


def _messages(path: Path) -> bytes:
    """The bytes of a file to parse: all of a small file, a large one without its weights."""
    if path.stat().st_size < LARGE:
        return path.read_bytes()
    try:
        return without_weights(path)
    except Malformed:
        return path.read_bytes()  # ONNX's own parser says what is wrong


def _parse(onnx: Any, content: bytes, name: str) -> Any:
    message = importlib.import_module("google.protobuf.message")
    try:
        model = onnx.ModelProto.FromString(content)
    except (message.DecodeError, RuntimeError, ValueError) as error:
        raise fail(
            "onnx-file",
            f"{name} is not a complete ONNX model ({error})",
            help="is the file truncated, or of another format?",
        ) from error
    return _checked(model, name)


def _parse_text(onnx: Any, content: bytes, name: str, form: str) -> Any:
    formats = [importlib.import_module(f"google.protobuf.{m}") for m in ("text_format", "json_format")]
    damaged = (*(m.ParseError for m in formats), onnx.parser.ParseError, RecursionError, ValueError)
    try:
        model = onnx.serialization.registry.get(form).deserialize_proto(content, onnx.ModelProto())
    except damaged as error:
        help = "a file's ending says its form: .onnx is for bytes"
        raise fail("onnx-file", f"{name} is not an ONNX model as {form} ({error})", help=help) from error
    return _checked(model, name)


def _checked(model: Any, name: str) -> Any:
    if not model.HasField("graph") or not (model.graph.node or model.graph.output):
        raise fail("onnx-file", f"{name} holds no ONNX graph", help="is the file truncated, or of another format?")
    check_names(model)
    return model


_DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
    10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 16: "bfloat16", 17: "float8_e4m3fn",
    18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4_e2m1fn",
    24: "float8_e8m0fnu", 25: "uint2", 26: "int2",
}  # fmt: skip
STRING = 8
"""ONNX's number of strings."""
_NAMES = {STRING: "string", 14: "complex64", 15: "complex128"}
WITHOUT_STRINGS = (
    "number the strings before they get to the model: export it with integers for categories and classes, "
    "or leave out the nodes that handle strings (baton.compile takes strings that are only compared and moved)"
)


def dtype_of(elem_type: int, where: str) -> DataType:
    """The data type of ONNX's number `elem_type`; `DiagnosticError` (`onnx-dtype`) where there is none here."""
    found = _DTYPES.get(elem_type)
    if found is None:
        help = WITHOUT_STRINGS if elem_type == STRING else None
        name = _NAMES.get(elem_type, elem_type)
        raise fail("onnx-dtype", f"{where} has element type {name}, which is not supported", help=help)
    return DataType(found)


def onnx_type_of(dtype: Any) -> int:
    """ONNX's number for a NumPy dtype; `DiagnosticError` (`onnx-dtype`) where there is none."""
    for number, name in _DTYPES.items():
        if DataType(name).numpy == dtype:
            return number
    raise fail("onnx-dtype", f"ONNX has no element type for tensors of dtype {dtype}")


def read_tensors(tensors: Sequence[Any], folder: ModelFolder | None) -> dict[str, AnyArray]:
    """The contents of `TensorProto`s by name; those in files are read by several threads, since reading is copying."""
    external = onnx_library().TensorProto.EXTERNAL
    with ThreadPoolExecutor(usable_processors()) as pool:
        found: dict[str, Any] = {}
        for tensor in tensors:
            apart = tensor.data_location == external
            # Each in a copy of this context, where it is noted which files are read.
            found[tensor.name] = (
                pool.submit(copy_context().run, read_tensor, tensor, folder) if apart else read_tensor(tensor, folder)
            )
        return {name: item.result() if isinstance(item, Future) else item for name, item in found.items()}


def read_tensor(tensor: Any, folder: ModelFolder | None) -> AnyArray:
    """The contents of a `TensorProto`, external data included (`folder` is the model's)."""
    onnx = onnx_library()
    name = tensor.name or "a tensor"
    dtype = dtype_of(tensor.data_type, f"tensor {name!r}")
    shape = tuple(tensor.dims)
    if any(d < 0 for d in shape) or int(np.prod(shape, dtype=object)) * dtype.itemsize > MAX_TENSOR_BYTES:
        raise fail("onnx-file", f"tensor {name!r} has the impossible shape {shape}")
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return _external(tensor, folder, dtype, shape)
    try:
        array: AnyArray = onnx.numpy_helper.to_array(tensor)
    except (ValueError, TypeError, BufferError) as error:
        raise fail("onnx-file", f"tensor {name!r} is damaged: {error}") from error
    # Of the parser's bytes a copy is made now: a constant may not keep them, and would copy once all tensors are read.
    return np.require(array, dtype.numpy, ["C_CONTIGUOUS", "WRITEABLE"]).reshape(shape)


def _external(tensor: Any, folder: ModelFolder | None, dtype: DataType, shape: tuple[int, ...]) -> AnyArray:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise fail(
            "onnx-external",
            f"tensor {tensor.name!r} stores its data in {location!r}, but the model was not given as a path",
            help="give the path of the model, or let onnx.load read its external data",
        )
    path = folder.find(location)
    if path is None:
        raise fail(
            "onnx-external",
            f"tensor {tensor.name!r} stores its data in {location!r}, which is not a file in the model's folder",
            help=f"external data must be in {folder.path}",
        )
    note_file(path)
    try:
        offset, count = int(entries.get("offset", 0)), int(np.prod(shape, dtype=np.int64))
        size = -(-count * dtype.bits // 8) if dtype.bits < 8 and not dtype.is_bool else count * dtype.itemsize
        if "length" in entries and int(entries["length"]) != size:
            raise ValueError(f"its length is given as {entries['length']} bytes, {size} are needed")
        array = _elements(np.fromfile(path, "uint8", count=size, offset=offset), dtype, count)
    except (ValueError, OverflowError, OSError) as error:
        raise fail(
            "onnx-external", f"tensor {tensor.name!r}: cannot read its data from {location!r}: {error}"
        ) from error
    if array.size != count:
        raise fail(
            "onnx-external", f"tensor {tensor.name!r} needs {count} elements, {location!r} has only {array.size}"
        )
    return array.reshape(shape)


def _elements(content: AnyArray, dtype: DataType, count: int) -> AnyArray:
    """Bytes as elements; of those smaller than a byte several share one, the first in the lowest bits."""
    if dtype.bits >= 8 or dtype.is_bool:
        return content[: content.size // dtype.itemsize * dtype.itemsize].view(dtype.numpy)
    shifts = np.arange(0, 8, dtype.bits, dtype="uint8")
    codes = (content[:, None] >> shifts) & ((1 << dtype.bits) - 1)
    return codes.astype("uint8").reshape(-1)[:count].view(dtype.numpy)


__all__ = [
    "STRING",
    "WITHOUT_STRINGS",
    "dtype_of",
    "onnx_library",
    "onnx_type_of",
    "read_model",
    "read_tensor",
    "read_tensors",
    "save_named",
]
