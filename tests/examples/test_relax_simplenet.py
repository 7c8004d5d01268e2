"""Seed 003's network in Relax: one executable for n = 1, 7 and 64, against NumPy."""

from __future__ import annotations

import numpy as np

import baton
from baton import relax
from examples.relax_simplenet import SimpleNet, parameters


def expected(data: np.ndarray, p: dict[str, np.ndarray]) -> np.ndarray:
    padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    conv = np.einsum("nchwij,ocij->nohw", windows, p["weight"], optimize=True)
    gamma, beta, mean, variance = (p[n].reshape(1, -1, 1, 1) for n in ("gamma", "beta", "mean", "variance"))
    return np.maximum((conv - mean) / np.sqrt(variance + 1e-5) * gamma + beta, 0)


def test_one_executable_for_every_batch_size() -> None:
    executable = relax.build(SimpleNet, target="llvm")
    machine = relax.VirtualMachine(executable, baton.cpu())
    params = parameters()
    for n in (1, 7, 64):
        data = np.random.default_rng(n).uniform(-1, 1, (n, 3, 224, 224)).astype("float32")
        found = machine["main"](data, *params.values()).numpy()
        wanted = expected(data[-1:], params)
        np.testing.assert_allclose(found[-1:], wanted, atol=1e-5 * np.abs(wanted).max())
        assert found.shape == (n, 32, 112, 112)


def test_bound_parameters_are_folded_into_the_convolution() -> None:
    params = parameters()
    model = baton.compile(SimpleNet, params=params)
    data = np.random.default_rng(3).uniform(-1, 1, (2, 3, 224, 224)).astype("float32")
    (found,) = model(data)
    wanted = expected(data, params)
    np.testing.assert_allclose(found, wanted, atol=1e-5 * np.abs(wanted).max())
    assert len(model.kernels) == 1, [kernel.name for kernel in model.kernels]
