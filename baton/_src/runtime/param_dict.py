"""Parameters by name as bytes: what `save_param_dict` writes (safetensors) and `load_param_dict` reads."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from baton._src.runtime.safetensors_file import read_tensors, write_tensors
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.values.convert import from_host
from baton._src.values.tensor import NDArray
from baton._src.values.tvm_format import is_param_list, read_params


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """The parameters (arrays by name) as bytes; any safetensors reader understands them."""
    stream = io.BytesIO()
    write_tensors(stream, {str(name): _array(name, value) for name, value in params.items()}, alignment=1)
    return stream.getvalue()


def _array(name: str, value: Any) -> Any:
    found = from_host(value)
    if not isinstance(found, NDArray):
        raise fail("api", f"parameter {name!r} is not a tensor, but a {type(value).__name__}")
    return np.asarray(found.data, order="C")


def load_param_dict(param_bytes: bytes | bytearray | memoryview) -> dict[str, NDArray]:
    """The inverse of `save_param_dict`; reads the `.params` files of TVM, too.

    `DiagnosticError` (`params-corrupt`, `tvm-format`) on anything else.
    """
    if is_param_list(param_bytes):
        return read_params(param_bytes)
    try:
        found = read_tensors(memoryview(bytes(param_bytes)))
    except DiagnosticError as error:
        message = f"these bytes are not saved parameters: {error.diagnostics[0].message}"
        raise fail("params-corrupt", message) from error
    return {name: NDArray(np.array(array)) for name, array in found.items()}


def save_param_dict_to_file(params: Mapping[str, Any], path: str) -> None:
    """Parameters by name in a file."""
    Path(path).write_bytes(save_param_dict(params))


def load_param_dict_from_file(path: str) -> dict[str, NDArray]:
    """The parameters of a file; errors as of `load_param_dict`."""
    return load_param_dict(Path(path).read_bytes())
