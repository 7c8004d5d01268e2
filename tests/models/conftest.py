"""What the tests of whole models share: the models of the zoo and onnxruntime as the judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import baton
from bench.models.write import cached
from bench.models.zoo import ZOO

Outputs = dict[str, np.ndarray]
Judge = Callable[[onnx.ModelProto | Path, Mapping[str, np.ndarray]], Outputs]


@pytest.fixture(scope="session")
def judge() -> Judge:
    """Runs a model, in memory or in a file, in onnxruntime on one thread: outputs by name."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # errors only: it warns of folded constants

    def run(model: onnx.ModelProto | Path, inputs: Mapping[str, np.ndarray]) -> Outputs:
        source = str(model) if isinstance(model, Path) else model.SerializeToString()
        session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, dict(inputs)), strict=True))

    return run


@pytest.fixture(scope="session")
def small_compiled() -> Callable[[str], baton.Model]:
    """`small_compiled(name)`: the small version of a model of the zoo, compiled once for this machine."""
    return cache(lambda name: baton.compile(ZOO[name].small_model()))


@pytest.fixture(scope="session")
def model_file() -> Callable[..., Path]:
    """`model_file(name, **options)`: a model of the zoo as a file, written once and kept under build/models."""

    def path(name: str, **options: Any) -> Path:
        return cached(name, **options)

    return path
