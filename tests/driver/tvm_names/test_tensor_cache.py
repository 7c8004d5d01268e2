"""`tvm.contrib.tvmjs`: folders of parameters, written and read; what does not fit is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import baton
from baton._src.support.diagnostics import DiagnosticError
from baton.contrib import tvmjs

RNG = np.random.default_rng(2)


def parameters() -> dict[str, Any]:
    return {
        "float": baton.nd.array(RNG.normal(size=(3, 5)).astype("float32")),
        "packed": RNG.integers(0, 2**32, (4,), dtype="uint32"),
        "half": RNG.normal(size=(2, 2)).astype("float16"),
        "brain": RNG.normal(size=3).astype(ml_dtypes.bfloat16),
        "scalar": np.float64(3.25),
        "none": np.zeros((0, 4), "int8"),
    }


def plain(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else np.asarray(value)


def test_raw_parameters_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = parameters()
    tvmjs.dump_ndarray_cache(given, str(tmp_path), "raw", meta_data=lambda: {"model": "x"}, show_progress=False)
    assert not capsys.readouterr().out
    found, metadata = tvmjs.load_ndarray_cache(str(tmp_path), baton.cpu())
    assert metadata == {"model": "x"}
    assert list(found) == list(given)
    for name, value in given.items():
        assert found[name].dtype == str(plain(value).dtype)
        np.testing.assert_array_equal(found[name].numpy(), plain(value))


def test_floats_as_upper_halves(tmp_path: Path) -> None:
    """Rounded to even; the largest numbers stay finite."""
    largest = np.finfo("float32").max
    values = np.array([1.0, 1.00390625, 1.01171875, -2.7, largest, -largest, np.inf, np.nan], "float32")
    tvmjs.dump_ndarray_cache(iter([("x", values)]), str(tmp_path))
    found, _ = tvmjs.load_ndarray_cache(str(tmp_path / "ndarray-cache.json"))
    wanted = np.where(np.abs(values) == largest, values, values.astype(ml_dtypes.bfloat16).astype("float32"))
    np.testing.assert_allclose(found["x"].numpy(), wanted, rtol=2**-8)
    np.testing.assert_array_equal(found["x"].numpy()[:4], values[:4].astype(ml_dtypes.bfloat16).astype("float32"))
    halves, _ = tvmjs.load_ndarray_cache(str(tmp_path / "ndarray-cache-b16.json"))
    assert halves["x"].dtype == "bfloat16"
    np.testing.assert_array_equal(halves["x"].numpy().astype("float32"), found["x"].numpy())


def test_shards_and_updates(tmp_path: Path) -> None:
    many = {f"p{i}": np.full((1 << 18,), i, "float32") for i in range(4)}
    tvmjs.dump_ndarray_cache(many, str(tmp_path), "raw", {"v": 1}, shard_cap_mb=2)
    index = json.loads((tmp_path / "ndarray-cache.json").read_text())
    assert [[r["name"] for r in shard["records"]] for shard in index["records"]] == [["p0", "p1"], ["p2", "p3"]]
    changed = {"p1": np.full((1 << 18,), 9, "float32"), "q": np.arange(3)}
    tvmjs.dump_ndarray_cache(changed, str(tmp_path), "raw", update_if_exists=True)
    found, metadata = tvmjs.load_ndarray_cache(str(tmp_path))
    assert metadata == {"v": 1}
    assert [float(found[f"p{i}"].numpy()[-1]) for i in range(4)] == [0, 9, 2, 3]
    assert found["q"].numpy().tolist() == [0, 1, 2]
    again = json.loads((tmp_path / "ndarray-cache.json").read_text())
    assert again["records"][0]["md5sum"] != index["records"][0]["md5sum"]
    with pytest.raises(ValueError, match="has 4 bytes, and had 1048576"):
        tvmjs.dump_ndarray_cache({"p0": np.zeros(1, "float32")}, str(tmp_path), "raw", update_if_exists=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataPath": "../secret"}, "is not a file of raw data beside its index"),
        ({"nbytes": 3}, "has 8 bytes, 3 were written"),
        ({"dataPath": "gone.bin"}, "cannot read"),
        ({"records": [{"name": "x", "shape": [4], "dtype": "float32", "format": "raw", "nbytes": 16, "byteOffset": 0}]},
         "'x' does not lie in its file"),
        ({"records": [{"name": "x"}]}, "is malformed"),
    ],
)  # fmt: skip
def test_malformed_folders(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    tvmjs.dump_ndarray_cache({"x": np.zeros(2, "float32")}, str(tmp_path), "raw")
    path = tmp_path / "ndarray-cache.json"
    index = json.loads(path.read_text())
    index["records"][0] |= change
    path.write_text(json.dumps(index))
    with pytest.raises(baton.error.TVMError, match=message):
        tvmjs.load_ndarray_cache(str(tmp_path))


def test_formats_and_names(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no format 'zip'"):
        tvmjs.dump_ndarray_cache({}, str(tmp_path), "zip")
    with pytest.raises(ValueError, match="two parameters 'x'"):
        tvmjs.dump_ndarray_cache(iter([("x", np.zeros(1)), ("x", np.zeros(1))]), str(tmp_path))


def test_parameters_of_the_process(tmp_path: Path) -> None:
    """What is loaded by name stays until it is removed; parameters come in the order asked for."""

    def call(name: str, *args: Any) -> Any:
        return baton.get_global_func(f"vm.builtin.{name}")(*args)

    given = {f"w_{i}": np.full(2, i, "float32") for i in range(3)}
    tvmjs.dump_ndarray_cache(given, str(tmp_path), "raw", show_progress=False)
    try:
        call("ndarray_cache.load", str(tmp_path), 1, 0)
        assert [p.numpy()[0] for p in call("param_array_from_cache", "w", -1)] == [0, 1, 2]
        assert [p.numpy()[0] for p in call("param_array_from_cache_by_name", ["w_2", "w_0", "w_2"])] == [2, 0, 2]
        assert len(call("param_array_from_cache_by_name_unpacked", "w_1")) == 1
        with pytest.raises(DiagnosticError, match="a parameter 'w_0' already"):
            call("ndarray_cache.update", "w_0", np.zeros(1, "int8"))
        call("ndarray_cache.update", "w_0", np.full(1, 7, "int8"), True)
        call("ndarray_cache.remove", "w_1")
        assert call("ndarray_cache.get", "w_1") is None
        assert [p.numpy()[0] for p in call("param_array_from_cache", "w", -1)] == [7]
        with pytest.raises(DiagnosticError, match="no parameters w_1"):
            call("param_array_from_cache", "w", 3)
    finally:
        call("ndarray_cache.clear")
    assert call("ndarray_cache.get", "w_0") is None
