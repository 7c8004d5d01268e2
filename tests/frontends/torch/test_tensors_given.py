"""PyTorch's tensors as arguments of compiled models: their memory is shared."""

from __future__ import annotations

import gc

import ml_dtypes
import numpy as np
import pytest
import torch

import baton
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.convert import from_host
from tests.frontends.torch.modules import seeded


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_tensors_of_elements_that_numpy_does_not_know(name: str) -> None:
    """PyTorch's tensors share their memory by DLPack, whatever their strides are."""
    tensor = torch.arange(12.0).reshape(3, 4).to(getattr(torch, name))
    shared = from_host(tensor)
    assert (shared.dtype, shared.shape) == (name, (3, 4))
    tensor[0, 0] = 8
    assert shared.data[0, 0] == 8
    for other in (tensor.T, tensor[1:, ::2], tensor[:0], tensor[1, 2], tensor.requires_grad_()[0]):
        np.testing.assert_array_equal(from_host(other).data.astype("float32"), other.detach().float().numpy())


def test_shared_memory_outlives_its_tensor() -> None:
    shared = from_host(torch.full((1000,), 3, dtype=torch.bfloat16))
    gc.collect()
    torch.zeros(1000, dtype=torch.bfloat16)
    assert (shared.data == 3).all()


def test_tensors_that_are_not_of_the_cpu() -> None:
    with pytest.raises(DiagnosticError, match="tensor-dlpack"):
        from_host(torch.empty(3, dtype=torch.bfloat16, device="meta"))


def test_models_of_bfloat16() -> None:
    module = seeded(lambda: torch.nn.Linear(4, 3)).bfloat16()
    rows = torch.arange(8.0).reshape(2, 4).bfloat16()
    (found,) = baton.compile(torch.export.export(module, (rows,)))(rows)
    assert found.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(found.astype("float32"), module(rows).detach().float(), 1e-2)
