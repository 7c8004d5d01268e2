"""Files that are damaged, hostile or beyond what is supported are refused with a code and a name, early."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from onnx import TensorProto, helper

import baton
from baton import DiagnosticError, relax, relay
from baton._src.ir.traverse import post_order
from baton._src.relax.block_builder import BlockBuilder
from tests.frontends.onnx.models import model_of, weight

ADD = helper.make_node("Add", ["x", "w"], ["y"], name="the add")


def refused(model: Any, code: str) -> str:
    """The message of the diagnostic, the same in both languages."""
    with pytest.raises(DiagnosticError) as error:
        relax.frontend.onnx.from_onnx(model)
    assert error.value.code == code, error.value
    with pytest.raises(DiagnosticError) as again:
        relay.frontend.from_onnx(model)
    assert again.value.code == code
    return str(error.value)


def external(location: str, count: int = 4, **entries: str) -> onnx.ModelProto:
    """A model whose weight lies in another file."""
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[count], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    return model_of([ADD], [("x", [count])], weights=[tensor])


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@settings(max_examples=40)
@given(some.integers(0, 10_000), some.binary(max_size=8))
def test_truncated_or_overwritten_bytes_never_crash(cut: int, junk: bytes) -> None:
    """A model cut anywhere, or with bytes overwritten, imports or is refused; nothing else happens."""
    content = model_of([ADD], [("x", [3])], weights=[weight("w", np.ones(3, np.float32))]).SerializeToString()
    cut %= len(content)
    for damaged in (content[:cut], content[:cut] + junk + content[cut + len(junk) :]):
        with contextlib.suppress(DiagnosticError):
            relax.frontend.onnx.from_onnx(damaged)


def test_missing_and_foreign_files(tmp_path: Path) -> None:
    refused(tmp_path / "none.onnx", "onnx-file")
    refused(b"", "onnx-file")
    refused(b"PK\x03\x04 this is a zip file", "onnx-file")


def test_external_data_beside_the_model(tmp_path: Path) -> None:
    """Guards what the tests below refuse: such data is read where it lies in the model's folder."""
    np.arange(4, dtype=np.float32).tofile(tmp_path / "w.bin")
    module = relax.frontend.onnx.from_onnx(saved(external("w.bin"), tmp_path))
    (read,) = [node for node in post_order(module["main"]) if isinstance(node, relax.Constant)]
    assert read.data.numpy().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "location", ["../secret.bin", "/etc/passwd", "a/../../secret.bin", "", ".", "link.bin", "w\0.bin"]
)
def test_external_data_outside_the_folder(tmp_path: Path, location: str) -> None:
    """Neither paths nor symbolic links lead out of the model's folder."""
    folder = tmp_path / "models"
    folder.mkdir()
    np.arange(4, dtype=np.float32).tofile(tmp_path / "secret.bin")
    os.symlink(tmp_path / "secret.bin", folder / "link.bin")
    assert "'w'" in refused(saved(external(location), folder), "onnx-external")


@pytest.mark.parametrize(
    "entries", [{"offset": "8"}, {"offset": "-1"}, {"offset": "x"}, {"offset": "9" * 99}, {"length": "1"}]
)
def test_external_data_that_does_not_fit(tmp_path: Path, entries: dict[str, str]) -> None:
    np.arange(4, dtype=np.float32).tofile(tmp_path / "w.bin")
    refused(saved(external("w.bin", **entries), tmp_path), "onnx-external")


def test_external_data_of_a_model_without_a_folder() -> None:
    refused(external("w.bin"), "onnx-external")


@pytest.mark.parametrize("dims", [[1 << 40], [1 << 31, 1 << 31, 1 << 31], [-3], [1 << 20, 1 << 20]])
def test_absurd_sizes(dims: list[int]) -> None:
    """A few bytes must not ask for the machine's memory."""
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims)
    assert "'w'" in refused(model_of([ADD], [("x", [3])], weights=[tensor]), "onnx-file")


def test_a_tensor_with_too_little_data() -> None:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3], raw_data=b"1234")
    assert "'w'" in refused(model_of([ADD], [("x", [3])], weights=[tensor]), "onnx-file")


@pytest.mark.parametrize("kind", [0, 8, 14, 15, 27, 99])
def test_element_types_that_there_are_none_of(kind: int) -> None:
    tensor = TensorProto(name="w", data_type=kind, dims=[1])
    refused(model_of([ADD], [("x", [3])], weights=[tensor]), "onnx-dtype")


def test_names_that_nothing_defines() -> None:
    assert "'the add'" in refused(model_of([ADD], [("x", [3])]), "onnx-graph")
    lonely = model_of([ADD], [("x", [3])], outputs=["z"], weights=[weight("w", np.ones(3, np.float32))])
    assert "'z'" in refused(lonely, "onnx-graph")


def test_nodes_in_any_order() -> None:
    """As onnxruntime, which sorts what tools have appended; a subgraph's use of an outer name counts too."""
    arm = helper.make_graph(
        [helper.make_node("Neg", ["late"], ["r"])], "arm", [], [helper.make_empty_tensor_value_info("r")]
    )
    nodes = [
        helper.make_node("If", ["less"], ["y"], then_branch=arm, else_branch=arm),
        helper.make_node("ReduceMax", ["late"], ["most"], keepdims=0),
        helper.make_node("Less", ["most", "most"], ["less"]),
        helper.make_node("Abs", ["x"], ["late"]),
    ]
    program = baton.compile(model_of(nodes, [("x", [3])]), num_threads=1)
    assert program.run({"x": np.array([1, -2, 3], np.float32)})[0].tolist() == [-1, -2, -3]


def test_nodes_that_wait_for_each_other() -> None:
    first = helper.make_node("Add", ["x", "b"], ["a"], name="first")
    nodes = [first, helper.make_node("Neg", ["a"], ["b"]), helper.make_node("Relu", ["a"], ["y"])]
    assert "Add 'first' -> Neg 'b' -> Add 'first'" in refused(model_of(nodes, [("x", [3])]), "onnx-graph")


def test_graphs_without_outputs_and_inputs_of_one_name() -> None:
    node = helper.make_node("Neg", ["x"], ["y"])
    assert "no outputs" in refused(model_of([node], [("x", [3])], outputs=[]), "onnx-graph")
    assert "two inputs 'x'" in refused(model_of([node], [("x", [3]), ("x", [3])]), "onnx-graph")


def test_names_defined_twice() -> None:
    """ONNX's graphs are in single assignment form: a second definition is an error, not an update."""
    nodes = [helper.make_node("Neg", ["x"], ["y"], name="a"), helper.make_node("Abs", ["x"], ["y"], name="b")]
    assert "'y'" in refused(model_of(nodes, [("x", [3])]), "onnx-graph")
    assert BlockBuilder.current() is None  # nothing is left open


def test_every_unsupported_operator_at_once() -> None:
    """One report for the whole model, subgraphs included: operator, count, names of nodes."""
    inner = helper.make_graph(
        [helper.make_node("Zing", ["x"], ["t"], name="inside")], "arm", [], [helper.make_empty_tensor_value_info("t")]
    )
    nodes = [
        helper.make_node("Frob", ["x"], ["a"], name="one"),
        helper.make_node("Frob", ["a"], ["b"], name="two"),
        helper.make_node("Gelu", ["b"], ["c"], domain="com.acme", name="three"),
        helper.make_node("If", ["q"], ["y"], then_branch=inner, else_branch=inner),
    ]
    text = refused(model_of(nodes, [("x", [3]), ("q", ([], TensorProto.BOOL))]), "onnx-unsupported-op")
    assert text.count("error[onnx-unsupported-op]") == 3
    assert "Frob is not supported (used 2x: 'one', 'two')" in text
    assert "com.acme.Gelu" in text
    assert "'inside'" in text


@pytest.mark.parametrize("name", [b"Relu", b"input0", b"result"])
def test_names_that_are_no_text(name: bytes) -> None:
    """protobuf reads them as bytes: of an operator, an input, a result."""
    content = model_of([helper.make_node("Relu", ["input0"], ["result"])], [("input0", [3])], ["result"])
    damaged = content.SerializeToString().replace(name, b"\x80" * len(name))
    with pytest.raises(DiagnosticError, match=r"onnx-file.*is not UTF-8"):
        relax.frontend.onnx.from_onnx(damaged)


@pytest.mark.parametrize(
    ("domain", "said"), [("com.microsoft.nchwc", "ORT_ENABLE_EXTENDED"), ("ai.onnx.contrib", "onnxruntime-extensions")]
)
def test_what_to_do_about_operators_of_other_domains(domain: str, said: str) -> None:
    node = helper.make_node("Conv", ["x"], ["y"], domain=domain)
    assert said in refused(model_of([node], [("x", [3])]), "onnx-unsupported-op").split("help: ")[1]


def test_what_to_do_about_images_in_files() -> None:
    """An operator of ONNX's own of a like name was proposed instead."""
    node = helper.make_node("ImageDecoder", ["x"], ["y"])
    assert "decode the image before the model" in refused(model_of([node], [("x", [3])]), "onnx-unsupported-op")


def test_a_node_that_is_wrong_is_named() -> None:
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="product 7")
    text = refused(model_of([node], [("x", [3, 4])], weights=[weight("w", np.ones((5, 6), np.float32))]), "op-shape")
    assert "product 7" in text
    node = helper.make_node("Concat", [], ["y"], name="nothing", axis=0)
    with pytest.raises(DiagnosticError, match="nothing"):
        relax.frontend.onnx.from_onnx(model_of([node], [("x", [3])]))


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (helper.make_node("Cast", ["x"], ["y"]), "attribute 'to' is missing"),
        (helper.make_node("MaxPool", ["x"], ["y"]), "attribute 'kernel_shape' is missing"),
        (helper.make_node("Unsqueeze", ["x", "nine"], ["y"]), "axis 9 is out of range for rank 3"),
        (helper.make_node("Slice", ["x", "nine", "nine", "nine"], ["y"]), "axis 9 is out of range for rank 2"),
        (helper.make_node("TopK", ["x", "nine"], ["y", "z"]), "the 9 largest of 3 elements"),
    ],
)
def test_attributes_and_axes_that_there_are_none_of(node: Any, message: str) -> None:
    """Guards against an internal error, and against an axis 9 that was taken for the last of three."""
    found = refused(model_of([node], [("x", [2, 3])], weights=[weight("nine", np.array([9]))]), "onnx-node")
    assert message in found


def test_sequences_as_outputs() -> None:
    node = helper.make_node("SplitToSequence", ["x"], ["parts"])
    said = refused(model_of([node], [("x", ["n"])], ["parts"]), "onnx-output")
    assert "output 'parts' is a sequence whose length is known only at run time" in said


def test_unknown_inputs_in_shapes_and_values() -> None:
    model = model_of([helper.make_node("Abs", ["x"], ["y"])], [("x", ["n"])])
    with pytest.raises(DiagnosticError, match="no input 'z'"):
        relax.frontend.onnx.from_onnx(model, {"z": [3]})
    with pytest.raises(DiagnosticError, match="no input 'z'"):
        relax.frontend.onnx.from_onnx(model, values={"z": np.ones(3)})
    with pytest.raises(DiagnosticError, match="float64"):
        relax.frontend.onnx.from_onnx(model, values={"x": np.ones(3)})


def test_external_data_that_is_linked_to_as_the_model_is(tmp_path: Path) -> None:
    """Caches of downloads keep files under their hashes and link to them by name; other links are still refused."""
    hashes, names = tmp_path / "hashes", tmp_path / "names"
    hashes.mkdir()
    names.mkdir()
    np.arange(4, dtype=np.float32).tofile(hashes / "4f3c")
    np.arange(4, dtype=np.float32).tofile(tmp_path / "secret.bin")
    saved(external("w.bin"), hashes).rename(hashes / "91ab")
    (names / "model.onnx").symlink_to(hashes / "91ab")
    (names / "w.bin").symlink_to(hashes / "4f3c")
    module = relax.frontend.onnx.from_onnx(names / "model.onnx")
    (read,) = [node for node in post_order(module["main"]) if isinstance(node, relax.Constant)]
    assert read.data.numpy().tolist() == [0, 1, 2, 3]
    (names / "w.bin").unlink()
    (names / "w.bin").symlink_to(tmp_path / "secret.bin")
    assert str(names) in refused(names / "model.onnx", "onnx-external")


@pytest.mark.parametrize(
    ("operator", "operands"),
    [
        ("ConstantOfShape", [[1 << 20, 1 << 20]]),
        ("Tile", [[[1, 2]], [1 << 20, 1 << 20]]),
        ("Range", [0, 1 << 45, 1]),
        ("OneHot", [[1, 2], 1 << 42, [0, 1]]),
        ("Expand", [1, [1 << 20, 1 << 20]]),
    ],
)
def test_results_of_a_few_numbers_are_not_made_when_importing(operator: str, operands: list[Any]) -> None:
    """They took as much memory as the file asked for; now that is up to the run."""
    weights = [weight(f"w{k}", np.array(o)) for k, o in enumerate(operands)]
    node = helper.make_node(operator, [w.name for w in weights], ["y"])
    main = relax.frontend.onnx.from_onnx(model_of([node], [], weights=weights))["main"]
    assert sum(e.data.numpy().nbytes for e in post_order(main) if isinstance(e, relax.Constant)) < 1000


def test_what_does_not_fit_into_the_memory_is_named() -> None:
    weights = [weight(f"w{k}", np.array(v)) for k, v in enumerate([10**7, 10**8, 8000, 0.0, 4000.0])]
    node = helper.make_node("MelWeightMatrix", [w.name for w in weights], ["y"], name="/mel")
    assert "'/mel': what it makes of constants is too large" in refused(
        model_of([node], [], weights=weights), "onnx-node"
    )


def test_ranges_without_end() -> None:
    weights = [weight(name, np.float32(v)) for name, v in (("a", 0), ("b", np.inf), ("c", 1))]
    assert "never ends" in refused(
        model_of([helper.make_node("Range", ["a", "b", "c"], ["y"])], [], weights=weights), "onnx-node"
    )


def test_functions_that_double_the_graph_again_and_again() -> None:
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("acme", 1)]
    functions = [helper.make_function("acme", "f0", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], opsets)]
    for k in range(1, 40):
        calls = [helper.make_node(f"f{k - 1}", [a], [b], domain="acme") for a, b in (("a", "t"), ("t", "b"))]
        functions.append(helper.make_function("acme", f"f{k}", ["a"], ["b"], calls, opsets))
    model = model_of([helper.make_node("f39", ["x"], ["y"], domain="acme")], [("x", [2])])
    model.functions.extend(functions)
    model.opset_import.append(opsets[1])
    assert f"{1 << 39} nodes" in refused(model, "onnx-graph")
