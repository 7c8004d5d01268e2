"""`tvm.contrib.dlpack`: functions over another library's tensors, which share memory by DLPack."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from baton._src.driver.tvm_names.arrays import from_dlpack


def convert_func(tvm_func: Callable[..., Any], tensor_type: type, to_dlpack_func: Callable[[Any], Any]) -> Any:
    """`tvm_func` for tensors of `tensor_type`, handed over in place: what it writes is seen in them.

    `to_dlpack_func(tensor)` gives something with `__dlpack__`, for most libraries the tensor itself.
    """

    def wrapped(*args: Any) -> Any:
        return tvm_func(*(from_dlpack(to_dlpack_func(a)) if isinstance(a, tensor_type) else a for a in args))

    return wrapped


def to_pytorch_func(tvm_func: Callable[..., Any]) -> Any:
    """`tvm_func` for PyTorch's tensors."""
    return convert_func(tvm_func, importlib.import_module("torch").Tensor, lambda tensor: tensor.detach())
