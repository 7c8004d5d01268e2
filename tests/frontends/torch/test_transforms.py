"""Fourier transforms of all sorts of lengths: short ones, composed ones, with and without small factors."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import baton
from tests.frontends.torch.cases.inputs import floats


def of_reals(x: Any) -> Any:
    half = torch.fft.rfft(x, norm="ortho")
    return torch.view_as_real(half), torch.fft.irfft(half * half, n=x.shape[1]), torch.fft.irfft(half[:, :9], n=40)


def of_complex(x: Any) -> Any:
    z = torch.complex(x, x.flip(1))
    plane = torch.fft.fftn(z[:, None].expand(-1, 3, -1), dim=(2, 1))
    return [torch.view_as_real(f) for f in (torch.fft.fft(z, norm="forward"), torch.fft.ifft(z), plane)]


@pytest.mark.parametrize("function", [of_reals, of_complex])
@pytest.mark.parametrize("length", [32, 33, 48, 98, 131, 262, 400, 2053, 10000])
def test_lengths(length: int, function: Any) -> None:
    x = floats(2, length)

    class Applied(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x)

    found = baton.compile(torch.export.export(Applied(), (x,)), opt_level=1)(x)
    for own, expected in zip(found, function(x.double()), strict=True):
        size = expected.abs().max().item()
        torch.testing.assert_close(torch.from_numpy(own), expected.float(), rtol=0, atol=2e-6 * size)


@pytest.mark.parametrize("length", [36, 48, 98, 131, 262, 1000])
def test_spectra_of_reals_are_real_at_the_ends(length: int) -> None:
    """Exactly, whatever the factors: the sign of what is rounded would decide between angles of pi and of minus pi."""
    ends = [0] if length % 2 else [0, length // 2]

    class Applied(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.fft.rfft(x)[:, ends].imag

    x = floats(5, length)
    (found,) = baton.compile(torch.export.export(Applied(), (x,)), opt_level=1)(x)
    assert not found.any()
    assert not torch.from_numpy(found).signbit().any()
