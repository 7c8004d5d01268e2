"""Convert dtypes and arrays of PyTorch. PyTorch is only needed when its objects are passed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from baton._src.frontends.torch.library import torch_library
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


def dtype_of(dtype: Any) -> DataType:
    """`torch.float32` is `float32`. Raises for complex and quantised dtypes."""
    name = str(dtype).removeprefix("torch.")
    if name.startswith(("complex", "q")):
        raise fail("torch-dtype", f"tensors of dtype {dtype} are not supported")
    return DataType(name)


def array_of(tensor: Any) -> AnyArray:
    """The elements as a read-only array; a view of the tensor's memory where it is dense."""
    torch = torch_library()
    plain = tensor.detach()
    if plain.device.type == "meta" or type(plain).__name__ == "FakeTensor":
        raise fail("torch-weights", "a weight has a shape but no elements (it is on the device `meta`)")
    plain = plain.cpu().resolve_conj().resolve_neg()
    if plain.layout is not torch.strided:
        raise fail(
            "torch-weights", f"weights of layout {plain.layout} are not supported", help="call .to_dense() first"
        )
    if plain.dtype == torch.bfloat16:
        found = plain.contiguous().view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    elif str(plain.dtype).startswith("torch.float8"):
        found = plain.contiguous().view(torch.uint8).numpy().view(dtype_of(plain.dtype).numpy)
    else:
        found = plain.contiguous().numpy()
    view: AnyArray = np.asarray(found).view()
    view.flags.writeable = False
    return view


def tensor_of(array: AnyArray) -> Any:
    """A tensor over the memory of an array; over a copy if nobody may write there, as tensors can always be written.

    One without elements has memory of PyTorch's own, which operators with `out=` may make larger.
    """
    torch = torch_library()
    if not array.size:
        return torch.empty(array.shape, dtype=getattr(torch, str(array.dtype)))
    if not array.flags.writeable:
        array = array.copy()
    if array.dtype.isbuiltin == 1:
        return torch.from_numpy(array)
    same_size = {1: np.uint8, 2: np.uint16}[array.dtype.itemsize]
    return torch.from_numpy(array.view(same_size)).view(getattr(torch, str(array.dtype)))
