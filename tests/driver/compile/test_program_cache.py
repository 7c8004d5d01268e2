"""Compiled programs on disk: they serve, nothing stale is ever served, and what is wrong with the disk is no error."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import baton as tvm
from baton import topi
from baton._src.driver.compile import compile_program as driver
from baton._src.driver.compile import program_cache
from baton._src.driver.compile.compile import compile as compile_model
from baton._src.ir.filled_columns import FILLED
from baton._src.support.diagnostics import DiagnosticError
from baton._src.transform.context import PassContext

X = np.linspace(-1, 1, 64, dtype="float32").reshape(1, 64)


def model(factor: float = 1.0, rows: int | str = 1) -> onnx.ModelProto:
    """x times a multiple of the identity. A kernel for any number of rows takes several times as long to compile."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    weight = numpy_helper.from_array(factor * np.eye(64, dtype="float32"), "w")
    return helper.make_model(
        helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [weight])
    )


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """A name for each program that was really compiled; everything is worth keeping, in a cache of its own."""
    found: list[str] = []
    real = driver.relax_build

    def counting(*args: Any, **options: Any) -> Any:
        found.append("compiled")
        return real(*args, **options)

    monkeypatch.setattr(driver, "relax_build", counting)
    monkeypatch.setattr(program_cache, "WORTHWHILE", 0.0)
    monkeypatch.setattr(program_cache, "source_fingerprint", lambda: "this version")
    monkeypatch.setenv("BATON_CACHE", "1")
    monkeypatch.setenv("BATON_CACHE_PROGRAMS", "64")
    monkeypatch.setenv("BATON_CACHE_DIR", str(tmp_path / "cache"))
    before = set(FILLED)
    FILLED.clear()  # by other tests
    yield found
    FILLED.clear()
    FILLED.update(before)


def result(path: Path, **options: Any) -> float:
    """The factor that the model in `path` multiplies by, after its entry is written."""
    compiled = compile_model(path, **options)
    for thread in threading.enumerate():
        if thread.name == "baton-keep-program":
            thread.join()
    (y,) = compiled(X)
    np.testing.assert_allclose(y, X * (y[0, 0] / X[0, 0]), rtol=1e-6)
    return float(round(y[0, 0] / X[0, 0], 3))


def test_a_second_time_it_is_loaded(builds: list[str], tmp_path: Path) -> None:
    """Guards hits: the same file, also by another name, is compiled once; schedules are still known."""
    path, other = tmp_path / "m.onnx", tmp_path / "other.onnx"
    path.write_bytes(model().SerializeToString())
    other.write_bytes(path.read_bytes())
    assert [result(path), result(path), result(other)] == [1.0, 1.0, 1.0]
    assert len(builds) == 1
    assert compile_model(path).executable.facts["schedules"]


def test_what_is_no_shape_or_array_is_judged_by_the_reader(builds: list[str], tmp_path: Path) -> None:
    """Guards errors of Python's and PyTorch's while the key is made."""
    path = tmp_path / "m.onnx"
    path.write_bytes(model().SerializeToString())
    with pytest.raises(DiagnosticError, match="the shape of 'x' is a list of dims, got 3"):
        compile_model(path, shapes={"x": 3})
    torch = pytest.importorskip("torch")
    assert result(path, params={"w": torch.nn.Parameter(2 * torch.eye(64))}) == 2.0


def test_what_matters_is_in_the_key(builds: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against stale programs: contents, options, shapes, values, target and baton's source."""
    path = tmp_path / "m.onnx"
    path.write_bytes(model(rows="n").SerializeToString())
    variants: list[dict[str, Any]] = [{}, {"opt_level": 0}, {"shapes": {"x": (1, 64)}}, {"shapes": {"x": ("m", 64)}}]
    variants += [{"params": {"w": np.eye(64, dtype="float32")}}, {"target": "llvm -num-cores=1"}]
    for _ in range(2):
        for options in variants:
            result(path, **options)
        assert len(builds) == len(variants)
    assert result(path, params={"w": 5 * np.eye(64, dtype="float32")}) == 5.0
    path.write_bytes(model(3.0, "n").SerializeToString())
    assert result(path) == 3.0
    monkeypatch.setattr(program_cache, "source_fingerprint", lambda: "the next version")
    assert result(path) == 3.0
    assert len(builds) == len(variants) + 3


def doubled(builder: Any, call: Any) -> Any:
    return builder.emit_te(lambda x, w: topi.multiply(topi.matmul(x, w), 2.0), *call.args)


def test_rules_that_scripts_register_count(builds: list[str], tmp_path: Path) -> None:
    """Guards against programs compiled before a rule was registered: they were served as they were, and kept after."""
    path = tmp_path / "m.onnx"
    path.write_bytes(model().SerializeToString())
    assert [result(path), result(path)] == [1.0, 1.0]
    try:
        tvm.ir.register_op_attr("relax.matmul", "FLegalize", doubled)
        assert [result(path), result(path)] == [2.0, 2.0]
        assert len(builds) == 3
    finally:
        tvm.ir.Op.get("relax.matmul").reset_attr("FLegalize")
        FILLED.clear()
    assert result(path) == 1.0
    assert len(builds) == 3


def test_databases_of_scripts_are_not_compared(builds: list[str], tmp_path: Path) -> None:
    """Guards against databases that give other schedules for the same records: functions, unions in another order."""
    path = tmp_path / "m.onnx"
    path.write_bytes(model().SerializeToString())
    with tvm.meta_schedule.Database.create(lambda schedule: False):
        assert [result(path), result(path)] == [1.0, 1.0]
    assert [result(path), result(path)] == [1.0, 1.0]
    assert len(builds) == 3


def test_settings_that_are_functions_are_not_compared(builds: list[str], tmp_path: Path) -> None:
    """Guards against settings whose texts are addresses: another function may lie there the next time."""
    path = tmp_path / "m.onnx"
    path.write_bytes(model().SerializeToString())
    with PassContext(config={"tir.LoopPartition": {"partition_const_loop": True}}):
        assert [result(path), result(path)] == [1.0, 1.0]
    assert len(builds) == 1
    with PassContext(config={"tir.add_lower_pass": [(1, lambda func, *_: func)]}):
        assert [result(path), result(path)] == [1.0, 1.0]
    assert len(builds) == 3


def test_external_data_counts(builds: list[str], tmp_path: Path) -> None:
    """Guards weights in files of their own: changing one is noticed."""
    path = tmp_path / "m.onnx"
    onnx.save(model(), path, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert [result(path), result(path)] == [1.0, 1.0]
    assert len(builds) == 1
    (tmp_path / "w.bin").write_bytes((2 * np.eye(64, dtype="float32")).tobytes())
    assert [result(path), result(path)] == [2.0, 2.0]
    assert len(builds) == 2


def test_one_model_linked_to_with_weights_of_its_own(builds: list[str], tmp_path: Path) -> None:
    """Guards caches of downloads, which keep files under their hashes: two versions of a model share what has not
    changed, and the links say which weights are meant."""
    onnx.save(model(), tmp_path / "91ab", save_as_external_data=True, location="w.bin", size_threshold=0)
    for factor in (1, 2):
        (tmp_path / f"weights{factor}").write_bytes((factor * np.eye(64, dtype="float32")).tobytes())
        folder = tmp_path / f"version{factor}"
        folder.mkdir()
        (folder / "m.onnx").symlink_to(tmp_path / "91ab")
        (folder / "w.bin").symlink_to(tmp_path / f"weights{factor}")
    paths = [tmp_path / f"version{factor}" / "m.onnx" for factor in (1, 2, 2)]
    assert [result(path) for path in paths] == [1.0, 2.0, 2.0]
    assert len(builds) == 2


@pytest.mark.parametrize("kind", ["json", "baton"])
@pytest.mark.parametrize("damage", [b"", b"{}", None])
def test_damaged_entries(builds: list[str], tmp_path: Path, kind: str, damage: bytes | None) -> None:
    """Guards against broken entries: they count as absent and are written anew."""
    path = tmp_path / "m.onnx"
    path.write_bytes(model().SerializeToString())
    result(path)
    (entry,) = (tmp_path / "cache" / "programs").glob(f"*.{kind}")
    if damage is None:
        entry.unlink()
    else:
        entry.write_bytes(damage)
    assert [result(path), result(path)] == [1.0, 1.0]
    assert len(builds) == 2


def test_after_a_crash_of_the_system(builds: list[str], tmp_path: Path) -> None:
    """Guards weights that never reached the disk: an entry of an earlier start of the system is checked as a whole."""
    path = tmp_path / "m.onnx"
    path.write_bytes(model().SerializeToString())
    result(path)
    folder = tmp_path / "cache" / "programs"
    (record,), (artifact,) = folder.glob("*.json"), folder.glob("*.baton")
    facts = json.loads(record.read_text())
    record.write_text(json.dumps({**facts, "start": "before"}))
    assert result(path) == 1.0
    assert len(builds) == 1
    assert json.loads(record.read_text())["start"] == facts["start"]
    content = bytearray(artifact.read_bytes())
    content[-5000] ^= 1  # in the weights
    artifact.write_bytes(bytes(content))
    record.write_text(json.dumps({**facts, "start": "before"}))
    assert result(path) == 1.0
    assert len(builds) == 2


def test_what_is_not_kept(builds: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the limits: the switch, the cap, programs that compile in no time, models that change meanwhile."""
    path = tmp_path / "m.onnx"
    path.write_bytes(model().SerializeToString())
    with monkeypatch.context() as patch:
        patch.setenv("BATON_CACHE_PROGRAMS", "0")
        result(path)
    with monkeypatch.context() as patch:
        patch.setattr(program_cache, "WORTHWHILE", 100.0)
        result(path)
    real = driver.keep_program

    def changed(*args: Any) -> None:
        os.utime(path, (1, 1))
        real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(driver, "keep_program", changed)
        result(path)
    assert not list((tmp_path / "cache").glob("programs/*"))
    assert len(builds) == 3


def test_external_data_that_changes_while_the_entry_is_written(
    builds: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards weights replaced right after compiling: the old program was kept under their hash, and served for them."""
    path, weights = tmp_path / "m.onnx", tmp_path / "w.bin"
    onnx.save(model(), path, save_as_external_data=True, location="w.bin", size_threshold=0)
    real = driver.keep_program

    def changed(*args: Any) -> None:
        weights.write_bytes((2 * np.eye(64, dtype="float32")).tobytes())
        real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(driver, "keep_program", changed)
        assert result(path) == 1.0
    assert result(path) == 2.0


def test_errors_are_those_of_compiling(builds: list[str], tmp_path: Path) -> None:
    """Guards diagnostics: files that are missing or wrong are reported as ever."""
    with pytest.raises(DiagnosticError, match="file-missing"):
        compile_model(tmp_path / "none.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"rubbish")
    with pytest.raises(DiagnosticError, match="onnx-file"):
        compile_model(tmp_path / "bad.onnx")
