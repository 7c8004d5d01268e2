"""Tensors from elsewhere, and parameters as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_safetensors
from safetensors.numpy import save as save_safetensors

from baton._src.support.diagnostics import fail
from baton._src.values.device import CPU, Device
from baton._src.values.tensor import NDArray, array
from baton._src.values.tvm_format import is_param_list, read_params


class _Capsule:
    """A DLPack capsule of memory of the CPU, as an object that gives it."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU.device_type, CPU.device_id


def from_dlpack(source: Any) -> NDArray:
    """A tensor over the memory of `source` (anything with `__dlpack__`), without a copy."""
    return NDArray(np.from_dlpack(source if hasattr(source, "__dlpack__") else _Capsule(source)))


def from_numpy(source: Any, device: Device = CPU) -> NDArray:
    """A tensor with a copy of a NumPy array."""
    return array(source, device)


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """Parameters by name as bytes (safetensors)."""
    arrays = {
        name: np.ascontiguousarray(value.data) if isinstance(value, NDArray) else value
        for name, value in params.items()
    }
    return save_safetensors(arrays)


def load_param_dict(param_bytes: bytes | bytearray) -> dict[str, NDArray]:
    """What `save_param_dict` wrote, or TVM's; `DiagnosticError` (`params-corrupt`, `tvm-format`) for anything else."""
    if is_param_list(param_bytes):
        return read_params(param_bytes)
    try:
        return {name: NDArray(found) for name, found in load_safetensors(bytes(param_bytes)).items()}
    except (SafetensorError, ValueError) as error:
        raise fail("params-corrupt", f"these bytes are no saved parameters: {error}") from error


def save_param_dict_to_file(params: Mapping[str, Any], path: str) -> None:
    """Parameters by name in a file."""
    Path(path).write_bytes(save_param_dict(params))


def load_param_dict_from_file(path: str) -> dict[str, NDArray]:
    """The parameters of a file; errors as of `load_param_dict`."""
    return load_param_dict(Path(path).read_bytes())
