"""The inputs a package is run on: the given arrays, and generated ones for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.driver.tvm_names.tvmc.errors import refuse
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

FILL_MODES = ("zeros", "ones", "random")


def generate_tensor_data(
    shape: Sequence[Any], dtype: str, fill_mode: str, draws: np.random.Generator | None = None
) -> AnyArray:
    """An array of zeros, ones or random numbers: integers of 8 bits from 0 to 127, others numbers between -1 and 1 cast
    to the dtype (which makes wider integers 0, valid wherever they are places). `draws`: where random numbers are taken
    from."""
    kind = DataType(dtype).numpy
    if fill_mode not in FILL_MODES:
        raise refuse(f"unknown fill-mode: {fill_mode}", f"one of {', '.join(FILL_MODES)}")
    if fill_mode != "random":
        return np.full(tuple(shape), fill_mode == "ones").astype(kind)
    random = draws or np.random.default_rng(0)
    if "int8" in dtype:
        return random.integers(0, 128, tuple(shape)).astype(kind)
    return random.uniform(-1, 1, tuple(shape)).astype(kind)


def make_inputs_dict(
    shape_dict: Mapping[str, Sequence[Any]],
    dtype_dict: Mapping[str, str],
    inputs: Mapping[str, Any] | None = None,
    fill_mode: str = "random",
) -> dict[str, Any]:
    """An array for every input: the one in `inputs`, else a made-up one. The same numbers are drawn in every run."""
    given = dict(inputs or {})
    for name in given:
        if name not in shape_dict:
            expected = f"Expected inputs: {', '.join(shape_dict) or 'none'}"
            raise refuse(f"the input tensor {name!r} is not in the graph", expected)
    draws = np.random.default_rng(0)
    found = {}
    for name, shape in shape_dict.items():
        if name not in given and not (isinstance(dtype_dict[name], str) and all(isinstance(d, int) for d in shape)):
            raise refuse(f"input {name!r} has sizes that are open", f"give an array: inputs={{{name!r}: ...}}")
        found[name] = given[name] if name in given else generate_tensor_data(shape, dtype_dict[name], fill_mode, draws)
    return found
