"""Parameters as bytes: any safetensors reader gets them, of every dtype, and nothing besides."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import safetensors

from baton._src.runtime.param_dict import load_param_dict, save_param_dict
from baton._src.support.diagnostics import DiagnosticError

PARAMS = {
    "weight": np.arange(3, dtype="float32"),
    "half": np.arange(5).astype(ml_dtypes.bfloat16),
    "mask": np.array([True]),
    "nibbles": np.array([1, -8]).astype(ml_dtypes.int4),
    "turned": np.arange(6, dtype="int8").reshape(2, 3).T,
    "scalar": np.float64(2.5),
}


def test_round_trip() -> None:
    found = load_param_dict(save_param_dict(PARAMS))
    assert list(found) == list(PARAMS)
    for name, array in PARAMS.items():
        np.testing.assert_array_equal(found[name].numpy(), array, strict=True)


def test_other_readers_find_the_parameters_and_no_padding() -> None:
    assert {name for name, _ in safetensors.deserialize(save_param_dict(PARAMS))} == set(PARAMS)


NESTED = (10**6).to_bytes(8, "little") + b"[" * 10**6
"""A header that no reader of JSON takes, as deep as it is."""


@pytest.mark.parametrize("content", [b"", b"junk", b"\xff" * 40, save_param_dict(PARAMS)[:-1], NESTED])
def test_other_bytes(content: bytes) -> None:
    with pytest.raises(DiagnosticError, match="not saved parameters") as caught:
        load_param_dict(content)
    assert caught.value.diagnostics[0].code == "params-corrupt"


@pytest.mark.parametrize("name", ["__metadata__", "__pad_3"])
def test_names_that_the_file_has_for_itself(name: str) -> None:
    """Guards parameters that were written and not read again, without a word."""
    with pytest.raises(DiagnosticError, match="tensor-name"):
        save_param_dict({name: np.zeros(2)})
