"""The inputs that commands run models on: sizes that follow from others, files with changed bytes."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from baton._src.driver.model.tensor_spec import TensorSpec
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tools.arrays import read_arrays
from baton._src.tools.feeds import made_up
from baton._src.values.dtype import DataType


def spec(name: str, *shape: int | str) -> TensorSpec:
    return TensorSpec(name, DataType("float32"), shape)


def test_computed_sizes_follow_from_their_dims() -> None:
    """Guards `n * 2`, which was 1 whatever n was; a text that is no expression is a name."""
    inputs = [spec("x", "n"), spec("y", "n * 2 + 1", "max(n, 4) - 4"), spec("z", "batch-size", "unk 1")]
    found = made_up(inputs, {"n": 5, "unk 1": 3})
    assert [array.shape for array in found.values()] == [(5,), (11, 1), (1, 3)]
    assert made_up(inputs, {"batch-size": 2})["z"].shape == (2, 1)


@pytest.mark.parametrize(("sizes", "words"), [({"k": 2}, "no dim 'k'"), ({"n": 2}, "n - 3 of input 'x' would be -1")])
def test_sizes_that_cannot_be_are_told(sizes: dict[str, int], words: str) -> None:
    with pytest.raises(DiagnosticError, match=words):
        made_up([spec("x", "n - 3")], sizes)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_changed_bytes_are_told_whatever_they_are(save: object, tmp_path: Path) -> None:
    """Guards errors of zlib, of archives' versions and of heads of arrays, which were taken for bugs of ours."""
    path, draw = tmp_path / "a.npz", random.Random(0)
    assert callable(save)
    save(path, a=np.arange(300, dtype="float32"), b=np.ones((3, 4)))
    whole = path.read_bytes()
    codes: list[str] = []
    for _ in range(150):
        content = bytearray(whole)
        for _ in range(3):
            content[draw.randrange(len(content))] = draw.randrange(256)
        path.write_bytes(content)
        try:
            read_arrays(path, [])
        except DiagnosticError as error:
            codes.append(error.diagnostics[0].code)
    assert len(codes) > 50
    assert set(codes) == {"input-file"}
