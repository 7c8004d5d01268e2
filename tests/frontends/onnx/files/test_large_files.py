"""Large files are read without their weights passing through the parser, and mean what they say."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from baton import relax
from baton._src.frontends.onnx.files import large_files, reader
from baton._src.frontends.onnx.files.large_files import Malformed, without_weights
from baton._src.frontends.onnx.files.reader import read_model, read_tensor
from baton._src.support.diagnostics import DiagnosticError


def model(*weights: onnx.TensorProto) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], doc_string="a node")]
    return helper.make_model(helper.make_graph(nodes, "g", [x], [y], list(weights)), doc_string="a model")


def weight(name: str = "w", size: int = 64) -> onnx.TensorProto:
    values = np.random.default_rng(len(name)).standard_normal((64, size)).astype("float32")
    return numpy_helper.from_array(values, name)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of any size count as large."""
    monkeypatch.setattr(reader, "LARGE", 0)


@pytest.mark.usefixtures("always")
def test_reads_what_onnx_reads(tmp_path: Path) -> None:
    """Guards the copy of the messages: all but the raw data is there, and the data is found in the file."""
    typed = helper.make_tensor("typed", TensorProto.FLOAT, (2000,), np.arange(2000, dtype="float32"))
    tiny = numpy_helper.from_array(np.float32([1, 2]), "tiny")
    given = model(weight(), tiny, typed, weight("v", 32))
    path = tmp_path / "m.onnx"
    path.write_bytes(given.SerializeToString())
    found, folder = read_model(path)
    assert [t.HasField("raw_data") for t in found.graph.initializer] == [False, True, False, False]
    for ours, theirs in zip(found.graph.initializer, given.graph.initializer, strict=True):
        np.testing.assert_array_equal(read_tensor(ours, folder), numpy_helper.to_array(theirs))
        ours.CopyFrom(theirs)
    assert found == given


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("cut", [1, 100, 5000, 16000])
def test_damaged_files(tmp_path: Path, cut: int) -> None:
    """Guards against reading beyond the file: a truncated one is a diagnostic."""
    path = tmp_path / "m.onnx"
    path.write_bytes(model(weight()).SerializeToString()[:-cut])
    with pytest.raises(DiagnosticError, match="onnx-file"):
        read_model(path)
    with pytest.raises(Malformed):
        without_weights(path)


@pytest.mark.usefixtures("always")
def test_lengths_that_disagree(tmp_path: Path) -> None:
    """Guards shapes: raw data of another length than the shape asks for is refused."""
    wrong = weight()
    wrong.dims[0] = 63
    path = tmp_path / "m.onnx"
    path.write_bytes(model(wrong).SerializeToString())
    found, folder = read_model(path)
    with pytest.raises(DiagnosticError, match="length"):
        read_tensor(found.graph.initializer[0], folder)


@pytest.mark.usefixtures("always")
def test_external_data_stays_external(tmp_path: Path) -> None:
    """Guards models that keep their weights elsewhere."""
    path = tmp_path / "m.onnx"
    given = model(weight())
    onnx.save(given, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    found, folder = read_model(path)
    (tensor,) = found.graph.initializer
    np.testing.assert_array_equal(read_tensor(tensor, folder), numpy_helper.to_array(weight()))
    assert any(e.value == "w.bin" for e in tensor.external_data)


def test_small_files_are_parsed_as_they_are(tmp_path: Path) -> None:
    """Guards the threshold."""
    path = tmp_path / "m.onnx"
    path.write_bytes(model(weight()).SerializeToString())
    assert path.stat().st_size < large_files.LARGE
    assert read_model(path)[0].graph.initializer[0].HasField("raw_data")


def test_weights_of_a_parsed_model_are_copied_one_by_one() -> None:
    """Guards memory: all weights were held as the parser's bytes while each was copied into its constant."""
    count, content = 16, np.zeros((256, 256), "float32")
    weights = [numpy_helper.from_array(content + k, f"w{k}") for k in range(count)]
    names = ["x", *(f"y{k}" for k in range(count))]
    nodes = [helper.make_node("Add", [names[k], f"w{k}"], [names[k + 1]]) for k in range(count)]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, content.shape)
    outputs = [helper.make_empty_tensor_value_info(names[-1])]
    given = helper.make_model(helper.make_graph(nodes, "sum", [x], outputs, weights), ir_version=8)
    relax.frontend.onnx.from_onnx(given)  # what is loaded on first use is there now
    tracemalloc.start()
    try:
        relax.frontend.onnx.from_onnx(given)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1.5 * count * content.nbytes
