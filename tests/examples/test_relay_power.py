"""A Relay program with an `if` on a run-time scalar and a recursive function, through the same tower."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import baton
from baton import relay

EXAMPLE = Path(__file__).parents[2] / "examples" / "power.relay"
X = np.array([0.5, -2.0, 1.5], "float32")


def test_compiled_from_text() -> None:
    model = baton.compile(EXAMPLE)
    assert [(spec.name, str(spec.dtype)) for spec in model.inputs] == [("x", "float32"), ("n", "int32")]
    for n in (0, 1, 7, 10):
        (found,) = model.run({"x": X, "n": np.array(n, "int32")})
        np.testing.assert_allclose(found, X**n, rtol=1e-6)


@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_every_executor_agrees(kind: str) -> None:
    module = relay.fromtext(EXAMPLE.read_text())
    run = relay.create_executor(kind, mod=module, device=baton.cpu(), target="llvm").evaluate()
    np.testing.assert_allclose(run(X, np.array(5, "int32")).numpy(), X**5, rtol=1e-6)


def test_artifacts_keep_control_flow(tmp_path: Path) -> None:
    baton.compile(EXAMPLE).save(tmp_path / "power.baton")
    (found,) = baton.load(tmp_path / "power.baton")(X, np.array(3, "int32"))
    np.testing.assert_allclose(found, X**3, rtol=1e-6)
