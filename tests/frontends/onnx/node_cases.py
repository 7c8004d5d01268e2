"""ONNX's own test cases of single operators, as data: the `onnx` package makes them when a module of it is imported."""

from __future__ import annotations

import importlib
import warnings
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnx.backend.test.case.node as node_cases

from baton._src.frontends.onnx.files.reader import read_tensor


@cache
def cases_of(module: str) -> dict[str, Any]:
    """The cases, by name, that `onnx.backend.test.case.node.<module>` defines."""
    before = len(node_cases._NodeTestCases)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module(f"onnx.backend.test.case.node.{module}")
    return {case.name: case for case in node_cases._NodeTestCases[before:]}


def as_array(value: Any) -> Any:
    """An array; of a sequence a list of them."""
    if isinstance(value, list):
        return [as_array(item) for item in value]
    return read_tensor(value, None) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def assert_outputs(case: Any, found: Any, expected: Any) -> None:
    """Same count, dtypes and shapes; values within the case's tolerance."""
    assert len(found) == len(expected)
    for got, wanted in zip(found, map(as_array, expected), strict=True):
        if isinstance(wanted, list):
            assert_outputs(case, got, wanted)
            continue
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        if wanted.dtype.hasobject:
            np.testing.assert_array_equal(got, wanted)
            continue
        if wanted.dtype.itemsize <= 2:
            got, wanted = got.astype(np.float32), wanted.astype(np.float32)
        np.testing.assert_allclose(got, wanted, rtol=case.rtol, atol=case.atol)
