"""The network of seed 003, as it stands there, under the alias: its numbers against NumPy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "relay_simplenet.py"

CHECK = """
import runpy, sys
import numpy as np
from baton import alias
alias.install("tvm")
names = runpy.run_path(sys.argv[1])
arrays = {key: value.numpy() for key, value in names["params"].items()}
np.savez(sys.argv[2], data=names["np_data"], out=names["tvm_output"].numpy(), **arrays)
"""


def _convolve(data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """3x3, stride 2, padding 1, NCHW."""
    padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    return np.einsum("nchwij,ocij->nohw", windows, weight)


@pytest.mark.rule("RELAY-BUILD-1")
@pytest.mark.rule("RELAY-BUILD-2")
def test_the_listing_gives_what_numpy_gives(tmp_path: Path) -> None:
    """Variance is drawn from (-1, 1), so some channels are NaN on both sides (contradictions B-29)."""
    out = tmp_path / "out.npz"
    subprocess.run([sys.executable, "-c", CHECK, str(EXAMPLE), str(out)], check=True, timeout=300)
    with np.load(out) as found:
        data, weight = found["data"].astype(np.float64), found["graph_conv_weight"].astype(np.float64)
        gamma, beta, mean, var = (
            found[f"graph_bn_{n}"].astype(np.float64).reshape(1, -1, 1, 1)
            for n in ("gamma", "beta", "moving_mean", "moving_var")
        )
        with np.errstate(invalid="ignore"):
            expected = np.maximum((_convolve(data, weight) - mean) / np.sqrt(var + 1e-5) * gamma + beta, 0)
        actual = found["out"]
    assert actual.shape == (1, 32, 112, 112)
    scale = np.nanmax(np.abs(expected))
    np.testing.assert_allclose(actual / scale, expected / scale, atol=1e-5, equal_nan=True)


def test_it_runs_as_a_script_under_the_alias() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "baton.alias", str(EXAMPLE)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "nn.conv2d" in done.stdout
