"""Programs in StableHLO, and what they compute: compiled, and in the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import baton
from baton._src.relax.interpreter import Interpreter
from baton.relax.frontend.stablehlo import from_stablehlo

NAMES = {
    "float16": "f16", "float32": "f32", "float64": "f64", "int8": "i8", "int32": "i32", "int64": "i64",
    "uint32": "ui32", "bool": "i1",
}  # fmt: skip


def type_of(x: np.ndarray) -> str:
    return f"tensor<{''.join(f'{d}x' for d in x.shape)}{NAMES[str(x.dtype)]}>"


def function(body: str, inputs: Sequence[np.ndarray], *results: np.ndarray) -> str:
    """`body` computes `%r0`, `%r1`, ... from `%a`, `%b`, ...; a single result may be called `%r`."""
    params = ", ".join(f"%{name}: {type_of(x)}" for name, x in zip("abcdef", inputs))
    types = ", ".join(map(type_of, results))
    names = ", ".join(f"%r{k}" for k in range(len(results))) if len(results) > 1 else "%r"
    head = f"module @m {{\n  func.func public @main({params}) -> ({types}) {{"
    return f"{head}\n{body}\n    return {names} : {types}\n  }}\n}}"


def check(text: str, inputs: Sequence[np.ndarray], *expected: Any) -> None:
    """Both ways of running it give these values, in these dtypes."""
    module = from_stablehlo(text)
    assert baton.relax.analysis.well_formed(module)
    for run in (baton.compile(module), lambda *args: Interpreter(module).run("main", *args)):
        found = run(*inputs)
        found = list(found) if isinstance(found, (tuple, list)) else [found]
        assert len(found) == len(expected)
        for one, wanted in zip(found, expected):
            array = one.numpy() if hasattr(one, "numpy") else np.asarray(one)
            assert array.dtype == np.asarray(wanted).dtype
            np.testing.assert_allclose(array, wanted, rtol=1e-4, atol=1e-5)
