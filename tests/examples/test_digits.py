"""The digits model is what the README says, and `make run` shows what it should."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "digits"


def test_model_reads_97_percent_of_the_held_back_images() -> None:
    with np.load(FOLDER / "digits_test.npz") as data:
        images, labels = data["image"], data["label"]
    assert images.shape == (360, 8, 8)
    session = onnxruntime.InferenceSession(FOLDER / "digits.onnx", providers=["CPUExecutionProvider"])
    (probability,) = session.run(None, {"image": images[:, None].astype(np.float32) / 16})
    assert (probability.argmax(axis=1) == labels).mean() >= 0.97


def test_files_are_small_and_the_batch_is_symbolic() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) < 400_000
    model = onnx.load(FOLDER / "digits.onnx")
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    kinds = {node.op_type for node in model.graph.node}
    assert kinds == {"Conv", "BatchNormalization", "Relu", "MaxPool", "Flatten", "Gemm", "Softmax"}


@pytest.fixture(scope="module")
def shown() -> str:
    """What the example prints on a wide terminal without colours."""
    environment = {"COLUMNS": "120", "NO_COLOR": "1", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_example_shows_accuracy_times_and_kernels(shown: str) -> None:
    accuracy = re.search(r"accuracy\s+([\d.]+)%", shown)
    assert accuracy
    assert float(accuracy[1]) >= 97
    assert re.search(r"compile time\s+[\d.]+ s", shown)
    assert re.search(r"time per image, 360 at once\s+[\d.]+ µs", shown)
    shares = re.findall(r"│\s+([\d.]+)%\s+│", shown)
    assert sum(map(float, shares)) == pytest.approx(100, abs=2)


def test_example_shows_pictures(shown: str) -> None:
    assert len(re.findall(r"read \d \(\d+%\), is \d", shown)) >= 5
    assert "@@" in shown
