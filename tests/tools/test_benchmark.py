"""The benchmark: PyTorch computes what the model says, peers that cannot are left out, reports say what was found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from baton._src.support.diagnostics import DiagnosticError
from baton._src.tools.benchmark.footprint import Footprint
from baton._src.tools.benchmark.peers import PEERS
from baton._src.tools.benchmark.report import memory_table, write
from baton._src.tools.benchmark.rounds import Comparison, Measured, _difference, compare
from bench.models.zoo import ZOO, example_inputs


def _written(name: str, folder: Path) -> tuple[Path, dict[str, np.ndarray]]:
    model = ZOO[name].small_model()
    path = folder / f"{name}.onnx"
    path.write_bytes(model.SerializeToString())
    return path, example_inputs(model, ZOO[name].dims)


@pytest.mark.parametrize("name", ZOO)
def test_torch_computes_the_model(name: str, tmp_path: Path) -> None:
    """Guards the translation to PyTorch, or the comparison would be with something else."""
    pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")
    path, feed = _written(name, tmp_path)
    found, expected = (PEERS[peer](path, feed, 1).run() for peer in ("torch", "onnxruntime"))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_torch_compile_computes_the_model(tmp_path: Path) -> None:
    """Guards the way through PyTorch's compiler, with a size that the model leaves open."""
    pytest.importorskip("torch")
    path, feed = _written("mlp_symbolic", tmp_path)
    found, expected = (PEERS[peer](path, feed, 1).run() for peer in ("torch.compile", "torch"))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4, atol=1e-5)


def _model_for_no_peer(folder: Path) -> tuple[Path, dict[str, np.ndarray]]:
    """Eyes like a matrix that comes in, which the translation to PyTorch does not cover."""
    node = helper.make_node("EyeLike", ["x"], ["y"])
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 3)) for name in "xy")
    path = folder / "eyes.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(helper.make_graph([node], "eyes", [x], [y]), opset_imports=opsets, ir_version=8), path)
    return path, {"x": np.zeros((2, 3), np.float32)}


def test_peers_that_cannot_are_left_out(tmp_path: Path) -> None:
    """Guards that a model beyond a peer neither ends the benchmark nor counts."""
    pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")
    path, feed = _model_for_no_peer(tmp_path)
    with pytest.raises(DiagnosticError, match="EyeLike is not covered"):
        PEERS["torch"](path, feed, 1)
    found = compare("eyes", path, feed, 1, ["baton", "onnxruntime", "torch"], 0.01)
    assert [r.name for r in found.runtimes] == ["baton", "onnxruntime"]
    assert "EyeLike" in found.left_out["torch"]
    assert found.runtimes[0].difference < 1e-4


@pytest.mark.parametrize(
    ("found", "expected", "difference"),
    [
        ([1.0, 2.0], [1.0, 4.0], 0.5),
        ([1.0, np.nan], [1.0, np.nan], 0.0),
        ([1.0, np.nan], [1.0, 2.0], np.inf),
        ([1.0, np.inf], [1.0, -np.inf], np.inf),
        ([1.0], [1.0, 1.0], np.inf),
        (["a"], ["a"], 0.0),
        (["a"], ["b"], np.inf),
        ([], [], 0.0),
        ([1j], [2j], 0.5),
    ],
)
def test_differences(found: list[Any], expected: list[Any], difference: float) -> None:
    """Guards that outputs that disagree are seen: those that are no numbers, too."""
    assert _difference([np.array(found)], [np.array(expected)]) == pytest.approx(difference)
    assert _difference([np.array(found)], []) == np.inf


def test_disagreements_are_told(tmp_path: Path) -> None:
    """Guards that a runtime that computes something else does not go into a table without a remark."""
    own, first, other = (Measured(n, "1", 0.5, [1e-3], d) for n, d in (("baton", 1e-7), ("a", 0.0), ("b", np.inf)))
    page, data = tmp_path / "page.md", tmp_path / "data.json"
    write([Comparison("model", 1, [own, first, other])], page, data)
    assert "- model, 1 thread(s): b differs from a by inf" in page.read_text()
    assert json.loads(data.read_text())["results"][0]["runtimes"][2]["difference"] == "Infinity"


def test_reports(tmp_path: Path) -> None:
    """Guards page and data: medians, the ratio to the best peer, loading and memory."""
    own = Measured("baton", "1", 0.5, [1e-3, 2e-3, 9e-3], 1e-7, Footprint(2.0, 30_000_000, 20_000_000, 21_000_000))
    peers = [Measured("a", "2", 0.1, [3e-3]), Measured("b", "3", 0.1, [5e-3])]
    found = [Comparison("model", 2, [own, *peers], {"c": "no"})]
    assert found[0].ratio() == pytest.approx(1.5)
    assert "| model | 2 s, 30 / 21 MB | — | — |" in memory_table(found)
    page, data = tmp_path / "page.md", tmp_path / "data.json"
    write(found, page, data)
    assert "| model | 2 | 2 ms | 3 ms | 5 ms | 1.50 | 1.0e-07 |" in page.read_text()
    assert json.loads(data.read_text())["results"][0]["left_out"] == {"c": "no"}
