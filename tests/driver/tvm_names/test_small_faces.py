"""Names of TVM's edges: downloads, tables of patterns, tensors of other libraries."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.driver.tvm_names.absent import REASONS
from baton._src.support.cache_folder import cache_folder
from baton._src.support.diagnostics import DiagnosticError
from baton.contrib.dlpack import convert_func
from baton.contrib.download import download, download_testdata
from baton.contrib.utils import TempDirectory, tempdir
from baton.relay.op.contrib import get_pattern_table, register_pattern_table


@pytest.mark.parametrize("path", sorted(REASONS))
def test_what_is_said_to_be_absent_is_absent(path: str) -> None:
    """Guards against a reason that outlives the absence (a module may be said to be incomplete)."""
    parent, _, name = f"baton.{path}".rpartition(".")
    try:
        module = importlib.import_module(parent)
    except ImportError:
        return
    assert isinstance(getattr(module, name, None), ModuleType | None)


def test_downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is fetched once; what cannot be fetched leaves nothing behind."""
    monkeypatch.setenv("BATON_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "source"
    source.write_text("first")
    place = Path(download_testdata(source.as_uri(), "model.bin", module="onnx"))
    assert place == cache_folder() / "testdata" / "onnx" / "model.bin"
    source.write_text("second")
    assert Path(download_testdata(source.as_uri(), "model.bin", module="onnx")).read_text() == "first"
    download(source.as_uri(), str(place), overwrite=True)
    assert place.read_text() == "second"
    with pytest.raises(DiagnosticError, match="api-download"):
        download((tmp_path / "nothing").as_uri(), str(tmp_path / "new" / "file"), retries=1)
    assert list((tmp_path / "new").iterdir()) == []


def test_tables_of_patterns() -> None:
    """What is registered under a compiler's name is what MergeComposite takes."""
    before = relay.parse(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) '
        "{ nn.relu(nn.dense(%x, %w)) }"
    )

    @register_pattern_table("mine")
    def table() -> list[tuple[object, ...]]:
        p = relay.dataflow_pattern
        return [("mine.dense_relu", p.is_op("nn.relu")(p.is_op("nn.dense")(p.wildcard(), p.wildcard())))]

    merged = relay.transform.MergeComposite(get_pattern_table("mine"))(before)
    assert "mine.dense_relu" in str(merged)
    assert get_pattern_table("nobody") is None


def test_other_libraries_tensors_are_written_in_place() -> None:
    """Memory is shared, not copied."""

    def double(x: baton.NDArray) -> None:
        x.data[...] *= 2

    array = np.ones(3, np.float32)
    convert_func(double, np.ndarray, lambda a: a)(array)
    assert array.tolist() == [2, 2, 2]


def test_temporary_folders_go_unless_they_are_kept() -> None:
    """`keep_for_debug` of one folder outweighs what is set for all."""
    with TempDirectory.set_keep_for_debug():
        kept, gone = tempdir(), tempdir(keep_for_debug=False)
    later = tempdir()
    for folder in (kept, gone, later):
        folder.remove()
    assert [Path(folder.path).is_dir() for folder in (kept, gone, later)] == [True, False, False]
    shutil.rmtree(kept.path)


def test_functions_that_modules_lack_are_attribute_errors() -> None:
    """As scripts catch them, of every kind of built module."""
    x = relay.var("x", shape=(2,))
    library = relay.build(baton.IRModule.from_expr(relay.Function([x], relay.exp(x))), "llvm")
    a = baton.te.placeholder((2,), name="A")
    kernels = baton.build(baton.te.create_prim_func([a, baton.te.compute((2,), lambda i: a[i] + 1.0)]))
    y = baton.relax.Var("y", baton.relax.TensorStructInfo((2,), "float32"))
    function = baton.relax.Function([y], y).with_attr("global_symbol", "main")
    machine = baton.relax.VirtualMachine(baton.relax.build(baton.IRModule({"main": function})), baton.cpu())
    for module in (library, library["default"](baton.cpu()), kernels, machine):
        with pytest.raises(AttributeError, match="'nope'") as caught:
            module["nope"]
        assert isinstance(caught.value, DiagnosticError)
