"""`from_onnx` of both languages as scripts written for TVM call it: options, names of parameters and their order."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import baton
from baton import relax, relay
from tests.frontends.onnx.models import model_of, weight


def _model() -> Any:
    """A table of words, an offset, a weight nobody uses; inputs whose names are no identifiers."""
    nodes = [helper.make_node("Gather", ["onnx::table", "ids.1"], ["t"]), helper.make_node("Add", ["t", "0"], ["y"])]
    weights = [weight("onnx::table", np.ones((5, 4), "float32")), weight("unused", np.ones(2, "float32"))]
    return model_of(nodes, [("ids.1", (["n", 3], TensorProto.INT64)), ("0", [4])], weights=weights, opset=17)


def _names(function: Any) -> list[str]:
    return [p.name_hint for p in function.params]


def test_signatures() -> None:
    of_relax = inspect.signature(relax.frontend.onnx.from_onnx).parameters
    assert list(of_relax)[:6] == [
        "model", "shape_dict", "dtype_dict", "opset", "keep_params_in_input", "sanitize_input_names",
    ]  # fmt: skip
    assert (of_relax["dtype_dict"].default, of_relax["sanitize_input_names"].default) == ("float32", True)
    of_relay = inspect.signature(relay.frontend.from_onnx).parameters
    assert list(of_relay)[:7] == [
        "model", "shape", "dtype", "opset", "freeze_params", "convert_config", "export_node_renamed_model_path",
    ]  # fmt: skip
    assert (of_relay["dtype"].default, of_relay["freeze_params"].default) == ("float32", True)


class _Somewhere:
    """A path of another library."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __fspath__(self) -> str:
        return str(self._path)


@pytest.mark.parametrize("kind", [bytes, bytearray, str, Path, _Somewhere])
def test_models_are_given_as_paths_of_any_kind_or_as_bytes(kind: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(model_of([helper.make_node("Relu", ["x"], ["y"])], [("x", [3])], opset=17), path)
    source = kind(path.read_bytes()) if kind in (bytes, bytearray) else kind(path)
    x = np.array([-1, 0, 2], "float32")
    assert baton.compile(source, num_threads=1).run({"x": x})[0].tolist() == [0, 0, 2]
    assert _names(relax.frontend.onnx.from_onnx(source)["main"]) == ["x"]


@pytest.mark.filterwarnings("ignore:The onnxtxt format is experimental")
@pytest.mark.parametrize("ending", ["textproto", "pbtxt", "onnxjson", "onnxtxt"])
def test_models_written_as_text(ending: str, tmp_path: Path) -> None:
    """What `onnx.save` makes of a file's ending is read by it; what is damaged is told with the form."""
    path = tmp_path / f"model.{ending}"
    node = helper.make_node("Add", ["x", "w"], ["y"])
    model = model_of([node], [("x", [3])], weights=[weight("w", np.array([1, 2, 3], "float32"))], opset=17)
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT  # ONNX's own text has no output without
    onnx.save(model, path)
    assert baton.compile(path, num_threads=1).run({"x": np.ones(3, "float32")})[0].tolist() == [2, 3, 4]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(baton.DiagnosticError, match=f"model.{ending} is not an ONNX model as") as error:
        baton.compile(path)
    assert error.value.code == "onnx-file"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(baton.DiagnosticError, match=f"model.{ending} is not an ONNX model as"):
        relax.frontend.onnx.from_onnx(path)


def test_one_dtype_for_all_inputs_leaves_those_that_the_model_says() -> None:
    """Scripts pass "float32" for models whose inputs are integers."""
    module, _ = relay.frontend.from_onnx(_model(), {"ids.1": (2, 3)}, "float32")
    assert [p.type_annotation.dtype for p in module["main"].params] == ["int64", "float32"]
    with pytest.warns(UserWarning, match="is called"):
        relaxed = relax.frontend.onnx.from_onnx(_model(), {"ids.1": (2, 3)}, "float32")
    assert [p.struct_info.dtype for p in relaxed["main"].params] == ["int64", "float32"]


def test_dtypes_by_name() -> None:
    module, _ = relay.frontend.from_onnx(_model(), {"ids.1": (2, 3)}, {"ids.1": "int32"})
    assert module["main"].params[0].type_annotation.dtype == "int32"


def test_relax_makes_identifiers_of_names_unless_told_not_to() -> None:
    with pytest.warns(UserWarning, match=r"'ids\.1' is called 'ids_1'"):
        module = relax.frontend.onnx.from_onnx(_model())
    assert _names(module["main"]) == ["ids_1", "input_0"]
    plain = relax.frontend.onnx.from_onnx(_model(), sanitize_input_names=False)
    assert _names(plain["main"]) == ["ids.1", "0"]


def test_relax_parameters_stand_behind_the_inputs() -> None:
    module = relax.frontend.onnx.from_onnx(_model(), keep_params_in_input=True, sanitize_input_names=False)
    assert _names(module["main"]) == ["ids.1", "0", "table", "unused"]
    assert module["main"].attrs["num_input"] == 2
    detached, params = relax.frontend.detach_params(module)
    assert "params" not in detached["main"].attrs
    assert [p.shape for p in params["main"]] == [(5, 4), (2,)]


def test_relay_parameters_that_nothing_uses_are_none() -> None:
    """They stay in the dictionary, by their names in the model."""
    module, params = relay.frontend.from_onnx(_model(), freeze_params=False)
    assert _names(module["main"]) == ["ids.1", "0", "onnx::table"]
    assert set(params) == {"onnx::table", "unused"}
    assert relay.frontend.from_onnx(_model())[1] == {}


def test_weights_that_decide_what_a_program_is_are_no_parameters() -> None:
    """Exporters write shapes, axes, bounds and scales as weights: as inputs of the program they were not known when
    importing, which refused the model, or left its sizes open."""
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["rows"]),
        helper.make_node("Slice", ["rows", "start", "end", "axis"], ["part"]),
        helper.make_node("Clip", ["part", "low", "high"], ["clipped"]),
        helper.make_node("Resize", ["clipped", "", "scales"], ["wide"]),
        helper.make_node("MatMul", ["wide", "w"], ["y"]),
    ]
    whole = {"shape": [-1, 6], "start": [0], "end": [2], "axis": [1]}
    real = {"low": -0.5, "high": 0.5, "scales": [1.0, 2.0], "w": np.eye(4)}
    weights = [
        *(weight(n, np.array(v)) for n, v in whole.items()),
        *(weight(n, np.float32(v)) for n, v in real.items()),
    ]
    model = model_of(nodes, [("x", ["n", 3, 4])], weights=weights)
    main = relax.frontend.onnx.from_onnx(model, keep_params_in_input=True)["main"]
    assert (_names(main), [p.shape for p in main.attrs["params"]]) == (["x", "w"], [(4, 4)])
    assert [str(d) for d in main.ret_struct_info.shape.values] == ["n * T.int64(2)", "T.int64(4)"]
    module, params = relay.frontend.from_onnx(model, shape={"x": (2, 3, 4)}, freeze_params=False)
    assert _names(module["main"]) == ["x", "w"]
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    found = relay.create_executor("vm", module).evaluate()(x, **params).numpy()
    np.testing.assert_allclose(found, baton.compile(model, num_threads=1).run({"x": x})[0], rtol=1e-5)


def test_sizes_by_name_are_symbols() -> None:
    module = relax.frontend.onnx.from_onnx(_model(), {"ids.1": ("batch", 7)}, sanitize_input_names=False)
    batch, seven = module["main"].params[0].struct_info.shape.values
    assert (batch.name, int(seven)) == ("batch", 7)


def test_another_opset_than_the_models() -> None:
    """Before opset 13 Softmax without an axis takes all axes from 1 on for one."""
    model = model_of([helper.make_node("Softmax", ["x"], ["y"])], [("x", [2, 2, 2])], opset=13)
    with pytest.warns(UserWarning, match="of opset 13"):
        module = relax.frontend.onnx.from_onnx(model, opset=11)
    assert "reshape" in module.script()
    assert "reshape" not in relax.frontend.onnx.from_onnx(model).script()


def test_the_model_with_a_name_for_every_node(tmp_path: Path) -> None:
    path = tmp_path / "named.onnx"
    relay.frontend.from_onnx(_model(), export_node_renamed_model_path=str(path))
    assert [n.name for n in onnx.load(path).graph.node] == ["Gather_0", "Add_1"]
