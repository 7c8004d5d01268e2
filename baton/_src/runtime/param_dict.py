"""Parameters by name as bytes: what `save_param_dict` writes (safetensors) and `load_param_dict` reads."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from baton._src.runtime.safetensors_file import read_tensors, write_tensors
from baton._src.support.diagnostics import fail
from baton._src.values.convert import from_host
from baton._src.values.tensor import NDArray
from baton._src.values.tvm_format import is_param_list, read_params


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """The parameters (arrays by name) as bytes; any safetensors reader understands them."""
    stream = io.BytesIO()
    write_tensors(stream, {str(name): _array(name, value) for name, value in params.items()})
    return stream.getvalue()


def _array(name: str, value: Any) -> Any:
    found = from_host(value)
    if not isinstance(found, NDArray):
        raise fail("api", f"parameter {name!r} is not a tensor, but a {type(value).__name__}")
    return found.data


def load_param_dict(content: bytes | bytearray | memoryview) -> dict[str, NDArray]:
    """The inverse of `save_param_dict`; reads the `.params` files of TVM, too.

    `DiagnosticError` (`executable-corrupt`, `tvm-format`) on anything else.
    """
    if is_param_list(content):
        return read_params(content)
    return {name: NDArray(np.array(array)) for name, array in read_tensors(memoryview(bytes(content))).items()}
