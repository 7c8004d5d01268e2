"""Whole programs of TensorFlow Lite: branches, loops, states, detectors; how files are read, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton.driver import tvmc
from baton.error import DiagnosticError
from baton.relax.frontend.tflite import from_tflite
from tests.frontends.tflite.models import Graph, Op, Tensor, agree, ints, model, normal, single
from tests.frontends.tflite.models import weights as constant

X = Tensor((3, 4))


def test_branches() -> None:
    """Guards both graphs of a condition that a run computes."""
    total = Tensor((), "float32")
    main: Graph = (
        {"x": X, "axes": ints(0, 1), "sum": total, "zero": constant(np.float32(0)), "c": Tensor((), "bool"), "y": X},
        [
            Op("SUM", "x axes", "sum", "ReducerOptions"),
            Op("GREATER", "sum zero", "c"),
            Op("IF", "c x", "y", "IfOptions", {"thenSubgraphIndex": 1, "elseSubgraphIndex": 2}),
        ],
        "x",
        "y",
    )
    then: Graph = ({"x": X, "y": X}, [Op("ADD", "x x", "y", "AddOptions")], "x", "y")
    other: Graph = ({"x": X, "y": X}, [Op("NEG", "x", "y")], "x", "y")
    content = model(main, then, other)
    agree(content, np.ones((3, 4), np.float32))
    agree(content, -np.ones((3, 4), np.float32))


def test_composites() -> None:
    """Guards operators that a graph of others defines, and whose options are of the later kinds."""
    flexbuffers = pytest.importorskip("flatbuffers.flexbuffers")
    nothing = list(bytes(flexbuffers.Dumps({})))
    fields = {"name": "mine.double", "decompositionSubgraphIndex": 1, "compositeAttributes": nothing}
    ops = [Op("STABLEHLO_COMPOSITE", "x", "y", "StableHLOCompositeOptions", fields, more=True)]
    double: Graph = ({"x": X, "y": X}, [Op("ADD", "x x", "y", "AddOptions")], "x", "y")
    agree(model(({"x": X, "y": X}, ops, "x", "y"), double), normal(3, 4))


def test_loops() -> None:
    """Guards states that go from one iteration to the next: i < 5: i + 1, x * 1.5."""
    count, flag = Tensor((), "int32"), Tensor((), "bool")
    main: Graph = (
        {"start": constant(np.int32(0)), "x": X, "i": count, "y": X},
        [Op("WHILE", "start x", "i y", "WhileOptions", {"condSubgraphIndex": 1, "bodySubgraphIndex": 2})],
        "x",
        "y",
    )
    goes_on: Graph = ({"i": count, "x": X, "n": constant(np.int32(5)), "c": flag}, [Op("LESS", "i n", "c")], "i x", "c")
    body: Graph = (
        {"i": count, "x": X, "one": constant(np.int32(1)), "f": constant(np.float32(1.5)), "j": count, "y": X},
        [Op("ADD", "i one", "j", "AddOptions"), Op("MUL", "x f", "y", "MulOptions")],
        "i x",
        "j y",
    )
    agree(model(main, goes_on, body), normal(3, 4))


def test_loops_whose_states_grow() -> None:
    """Guards sizes that change from one iteration to the next: x = concat(x, x) twice."""
    count, flag, grows = Tensor((), "int32"), Tensor((), "bool"), Tensor((3, 4), open=(0,))
    main: Graph = (
        {"start": constant(np.int32(0)), "x": X, "i": count, "y": grows},
        [Op("WHILE", "start x", "i y", "WhileOptions", {"condSubgraphIndex": 1, "bodySubgraphIndex": 2})],
        "x",
        "y",
    )
    tensors = {"i": count, "x": grows, "n": constant(np.int32(2)), "c": flag}
    goes_on: Graph = (tensors, [Op("LESS", "i n", "c")], "i x", "c")
    body: Graph = (
        {"i": count, "x": grows, "one": constant(np.int32(1)), "j": count, "y": grows},
        [Op("ADD", "i one", "j", "AddOptions"), Op("CONCATENATION", "x x", "y", "ConcatenationOptions", {"axis": 0})],
        "i x",
        "j y",
    )
    agree(model(main, goes_on, body), normal(3, 4))


def lstm(steps: int, inputs: int, size: int, clip: float = 0.0, *, time_first: bool = False) -> bytes:
    """A layer with random weights."""
    shape = (steps, 2, inputs) if time_first else (2, steps, inputs)
    tensors: dict[str, Tensor] = {"x": Tensor(shape)}
    for gate in "ifco":
        tensors[f"w{gate}"] = constant(normal(size, inputs))
    for gate in "ifco":
        tensors[f"r{gate}"] = constant(normal(size, size) / 2)
    for gate in "ifco":
        tensors[f"b{gate}"] = constant(normal(size))
    tensors["h"], tensors["c"] = (Tensor((2, size), variable=True) for _ in range(2))
    tensors["y"] = Tensor((*shape[:2], size))
    names = [f"{kind}{gate}" for kind in "wr" for gate in "ifco"]
    operands = ["x", *names, *"___", *(f"b{gate}" for gate in "ifco"), *"__", "h", "c", *"____"]
    fields = {"fusedActivationFunction": 4, "cellClip": clip, "timeMajor": time_first}
    ops = [Op("UNIDIRECTIONAL_SEQUENCE_LSTM", " ".join(operands), "y", "UnidirectionalSequenceLSTMOptions", fields)]
    return model((tensors, ops, "x", "y"))


@pytest.mark.parametrize("time_first", [False, True])
def test_recurrent_layers(time_first: bool) -> None:
    agree(lstm(6, 5, 4, time_first=time_first), normal(*((6, 2, 5) if time_first else (2, 6, 5))))


def test_cells_are_clipped() -> None:
    """Guards the limit of the state that converters write, which longer sequences reach."""
    agree(lstm(12, 5, 4, clip=0.6), normal(2, 12, 5))


def test_plain_recurrent_layers() -> None:
    tensors = {
        "x": Tensor((2, 6, 5)), "w": constant(normal(4, 5)), "r": constant(normal(4, 4) / 2), "b": constant(normal(4)),
        "h": Tensor((2, 4), variable=True), "y": Tensor((2, 6, 4)),
    }  # fmt: skip
    options = "SequenceRNNOptions"
    content = single("UNIDIRECTIONAL_SEQUENCE_RNN", tensors, options, fusedActivationFunction=4, timeMajor=False)
    agree(content, normal(2, 6, 5))


def boxes(count: int) -> Any:
    """Random corners (y0, x0, y1, x1)."""
    return np.sort(np.abs(normal(count, 2, 2)), axis=1).reshape(count, 4)


@pytest.mark.parametrize("count", [4, 40])
def test_suppression(count: int) -> None:
    """Guards fewer boxes than there is room for, too."""
    tensors = {
        "b": Tensor((20, 4)), "s": Tensor((20,)), "n": constant(np.int32(count)), "o": constant(np.float32(0.4)),
        "l": constant(np.float32(0.2)), "y": Tensor((count,), "int32"), "y1": Tensor((), "int32"),
    }  # fmt: skip
    agree(single("NON_MAX_SUPPRESSION_V4", tensors), boxes(20), np.random.default_rng(1).random(20, np.float32))
    soft = {"z": constant(np.float32(0)), "y": tensors["y"], "y1": Tensor((count,)), "y2": tensors["y1"]}
    tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith("y")} | soft
    agree(single("NON_MAX_SUPPRESSION_V5", tensors), boxes(20), np.random.default_rng(1).random(20, np.float32))


def test_detectors() -> None:
    """Guards the decoding of boxes around anchors, and the best class of each."""
    flexbuffers = pytest.importorskip("flatbuffers.flexbuffers")
    options = {
        "max_detections": 5, "max_classes_per_detection": 1, "num_classes": 3, "nms_score_threshold": 0.3,
        "nms_iou_threshold": 0.5, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0,
        "use_regular_nms": False, "detections_per_class": 100,
    }  # fmt: skip
    tensors = {
        "e": Tensor((1, 30, 4)), "s": Tensor((1, 30, 4)), "a": constant(np.abs(normal(30, 4)) + 0.1),
        "y": Tensor((1, 5, 4)), "y1": Tensor((1, 5)), "y2": Tensor((1, 5)), "y3": Tensor((1,)),
    }  # fmt: skip
    custom = bytes(flexbuffers.Dumps(options))
    ops = [Op("TFLite_Detection_PostProcess", "e s a", "y y1 y2 y3", custom=custom)]
    content = model((tensors, ops, "e s", "y y1 y2 y3"))
    agree(content, normal(1, 30, 4), np.random.default_rng(2).random((1, 30, 4), np.float32))


ADD = single("ADD", {"a": X, "b": constant(np.ones((3, 4), np.float32)), "y": X}, "AddOptions")


def test_files_are_compiled(tmp_path: Path) -> None:
    """Guards paths, bytes and parsed models, in both languages, and the command line's reader."""
    tflite = pytest.importorskip("tflite")
    path = tmp_path / "add.tflite"
    path.write_bytes(ADD)
    x = normal(3, 4)
    (found,) = baton.compile(path).run({"a": x})
    np.testing.assert_allclose(found, x + 1)
    parsed = tflite.Model.GetRootAsModel(ADD, 0)
    program, params = relay.frontend.from_tflite(parsed, shape_dict={"a": (3, 4)}, dtype_dict={"a": "float32"})
    assert [param.name_hint for param in program["main"].params] == ["a"]
    assert params == {}
    assert tvmc.load(str(path)).mod["main"].params[0].name_hint == "a"
    assert from_tflite(parsed)["main"].attrs["output_names"] == ("y",)


def test_shapes_that_are_given() -> None:
    module = from_tflite(ADD, shape_dict={"a": (1, 4)})
    (found,) = baton.compile(module).run({"a": np.zeros((1, 4), np.float32)})
    assert found.shape == (3, 4)


def test_states_begin_each_run_anew() -> None:
    content, x = lstm(6, 5, 4), normal(2, 6, 5)
    compiled = baton.compile(from_tflite(content))
    first, second = (np.asarray(compiled.run({"x": x})[0]) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def refused(code: str, content: Any, *words: str, **options: Any) -> None:
    """Importing fails with this diagnostic, which says these words."""
    with pytest.raises(DiagnosticError) as caught:
        from_tflite(content, **options)
    assert caught.value.diagnostics[0].code == code
    for word in words:
        assert word in str(caught.value)


def test_damaged_files_are_refused() -> None:
    refused("tflite-file", b"", "no TensorFlow Lite model")
    refused("tflite-file", b"PK\x03\x04 and so on", "no TensorFlow Lite model")
    refused("tflite-file", Path("nowhere.tflite"), "nowhere.tflite")
    refused("tflite-file", 3, "int")
    for kept in range(12, len(ADD), 7):
        with pytest.raises(DiagnosticError):
            from_tflite(ADD[:kept])


def test_contents_of_another_size_are_refused() -> None:
    tensors = {"a": X, "b": Tensor((3, 4), "float32", np.ones(5, np.float32)), "y": X}
    refused("tflite-file", single("ADD", tensors, "AddOptions"), "'b'", "20 bytes")


def test_unknown_operators_are_told_at_once() -> None:
    ops = [Op("Mine", "x", "h"), Op("SVDF", "h", "i"), Op("Yours", "i", "y")]
    content = model(({"x": X, "h": X, "i": X, "y": X}, ops, "x", "y"))
    refused("tflite-unsupported-op", content, "Mine", "SVDF", "Yours")


def test_what_cannot_be_imported_names_the_operator() -> None:
    content = single("RESIZE_BILINEAR", {"x": X, "s": Tensor((2,), "int32"), "y": X}, "ResizeBilinearOptions")
    refused("op-shape", content, "RESIZE_BILINEAR", "'y'")
    content = single("GATHER", {"x": X, "i": ints(0), "y": X}, "GatherOptions", axis=5)
    refused("tflite-unsupported", content, "axis 5", "GATHER", "'y'")


def test_inputs_that_the_model_lacks() -> None:
    refused("tflite-input", ADD, "'c'", shape_dict={"c": (3, 4)})
    refused("tflite-input", ADD, "'a'", "axes", shape_dict={"a": (3,)})
    refused("tflite-input", ADD, "float32", dtype_dict={"a": "int8"})
