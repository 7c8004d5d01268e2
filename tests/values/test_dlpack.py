"""Tensors given to other libraries and taken from them, of elements that NumPy's own DLPack does not know."""

from __future__ import annotations

import gc
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import baton
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values import ffi
from baton._src.values.convert import from_host, to_ffi
from baton._src.values.tensor import NDArray

SMALL = [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


@pytest.mark.parametrize("dtype", SMALL)
def test_small_floats_share_their_memory(dtype: Any) -> None:
    """Guards bfloat16 results, which could be read from PyTorch but not given to it: both ways, with strides."""
    tensor = NDArray(np.arange(6).astype(dtype).reshape(2, 3)[:, ::2])
    for seen in (baton.nd.from_dlpack(tensor), baton.nd.from_dlpack(tensor.to_dlpack())):
        assert seen.data.dtype == tensor.data.dtype
        assert np.shares_memory(seen.data, tensor.data)
        seen.data[0, 1] = 7
        assert tensor.numpy().astype("float32").tolist() == [[0, 7], [3, 5]]
        tensor.data[0, 1] = 2


def test_the_memory_outlives_the_tensor() -> None:
    """Guards the owner that a capsule keeps."""
    taken = baton.nd.from_dlpack(NDArray(np.full(4096, 3, ml_dtypes.bfloat16)).to_dlpack())
    gc.collect()
    assert set(taken.numpy().astype("float32")) == {3.0}


def test_foreign_functions_take_bfloat16() -> None:
    """Guards calls of tvm-ffi functions, which refused such tensors; elements of 4 bits have no such form."""
    package = ffi.tvm_ffi()
    tensor = NDArray(np.ones(3, ml_dtypes.bfloat16))
    echoed = package.convert(lambda x: (str(x.dtype), x))(to_ffi(tensor))
    assert echoed[0] == "bfloat16"
    assert np.shares_memory(from_host(echoed[1]).data, tensor.data)
    with pytest.raises(DiagnosticError, match="cannot be passed to a foreign packed function"):
        to_ffi(NDArray(np.ones(3, ml_dtypes.int4)))


def test_pytorch_takes_bfloat16() -> None:
    """Guards what users do with results: `torch.from_dlpack` was refused."""
    torch = pytest.importorskip("torch")
    tensor = NDArray(np.ones((2, 3), ml_dtypes.bfloat16))
    assert torch.from_dlpack(tensor).dtype == torch.bfloat16
    assert torch.utils.dlpack.from_dlpack(tensor.to_dlpack()).tolist() == [[1, 1, 1]] * 2
