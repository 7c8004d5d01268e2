"""`relay.frontend.common`: what importers of users are written with."""

from __future__ import annotations

import numpy as np
import pytest

import baton
from baton import relay
from baton.relay.frontend import common


def test_types_shapes_and_channels() -> None:
    x, w = common.new_var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    layer = relay.nn.conv2d(x, w)
    assert common.infer_shape(layer) == (1, 4, 6, 6)
    assert common.infer_shape(relay.Tuple([x, w]))[1] == (4, 3, 3, 3)
    assert str(common.infer_type(layer).checked_type) == "Tensor[(1, 4, 6, 6), float32]"
    assert (common.infer_channels(w), common.infer_channels(w, transpose=True)) == (4, 3)
    assert common.get_name(x) == "x"
    assert common.get_relay_op("conv2d") is common.get_relay_op("nn.conv2d")
    assert common.get_relay_op("yolo_reorg") is common.get_relay_op("vision.yolo_reorg")
    with pytest.raises(baton.DiagnosticError, match="conv9d"):
        common.get_relay_op("conv9d")


def test_values() -> None:
    x = relay.var("x", shape=(2,))
    expr = x + relay.const([1.0, 2.0])
    assert common.infer_value(expr, {"x": np.ones(2, "float32")}).numpy().tolist() == [2, 3]
    assert common.try_infer_value(expr) == (expr, False)
    bound = relay.Let(x, relay.const([1.0, 2.0]), x * x)  # a variable of its own is not asked for
    assert common.infer_value(bound, {}).numpy().tolist() == [1, 4]
    found, known = common.try_infer_value(relay.const(2) * relay.const(3), on_success=int)
    assert (found, known) == (6, True)
    assert common.fold_constant(relay.const(2) * relay.const(3)).data.numpy() == 6
    assert common.to_int_list(np.int64([1, 2])) == [1, 2]


def test_layers_are_named_in_texts() -> None:
    """What was named before keeps its name."""
    x = relay.var("x", shape=(2,))
    first = common.set_span(relay.exp(x), "first")
    text = str(common.set_span(relay.tanh(first), "second"))
    assert "exp(%x) /* span=first:0:0 */" in text
    assert "tanh(%0) /* span=second:0:0 */" in text


def test_converters_rename_transform_and_refuse_attributes() -> None:
    x = relay.var("x", shape=(2, 4))
    convert = common.AttrCvt(
        "nn.softmax", transforms={"dim": ("axis", -1, int)}, excludes=["beta"], ignores=["note"],
        custom_check=(lambda attrs: attrs.get("rank", 2) == 2, "matrices only"), disables=["rank"],
    )  # fmt: skip
    assert convert([x], {"dim": "0", "note": 1, "rank": 2, "tvm_custom": {}}, {}).attrs.axis == 0
    assert convert([x], {"dim": None}).attrs.axis == -1
    assert common.AttrCvt(lambda attrs: attrs["to"], ignores=["to"], extras={"alpha": 0.5})(
        [x], {"to": "leaky_relu"}
    ).attrs.alpha == pytest.approx(0.5)
    assert common.Renamer("relu")([x], {"tvm_custom": {}}).op.name == "nn.relu"
    with pytest.raises(NotImplementedError, match=r"'beta' of nn\.softmax"):
        convert([x], {"beta": 1})
    with pytest.raises(RuntimeError, match="matrices only"):
        convert([x], {"rank": 3})
    with pytest.raises(ValueError, match="not \\(\\)"):
        common.AttrCvt("exp", transforms={"a": ()})([x], {"a": 1})


def test_attributes_given_as_texts() -> None:
    attrs = common.StrAttrsDict(
        {"n": "3", "none": "None", "x": "0.5", "on": "True", "shape": "(2, 3,)", "pads": "((1, 2), (3, 4))"}
    )
    assert (attrs.get_int("n"), attrs.get_int("none"), attrs.get_float("x"), attrs.get_bool("on")) == (3, None, 0.5, 1)
    assert attrs.get_int_tuple("shape") == attrs.get_int_list("shape") == (2, 3)
    assert attrs.get_float_tuple("shape") == (2.0, 3.0)
    assert attrs.get_tuple_tuple_int("pads") == ((1, 2), (3, 4))
    assert attrs.get_str("absent", "yes") == "yes"
    with pytest.raises(AttributeError, match="'absent' is required"):
        attrs.get_int("absent")


def test_expressions_by_name() -> None:
    table = common.ExprTable()
    weight = table.new_const(np.zeros((2, 3), "float32"))
    assert table.params.keys() == {"_param_1"}
    assert common.infer_shape(weight) == (2, 3)
    table.set_expr("y", relay.exp(weight))
    first = table.get_expr("y")
    table.set_expr("y", weight)
    assert table.get_expr("y") is first
    assert not table.has_expr("z")
    table.set_expr("y", weight, force_override=True)
    assert table.get_expr("y") is weight


def test_shapes_slices_and_scalars() -> None:
    x = relay.var("x", shape=(2, 3))
    assert common.shape_of(x, "int32", start=1).data.numpy().tolist() == [3]
    batch = relay.var("x", shape=(relay.Any(), 3))
    assert common.shape_of(batch).op.name == "shape_of"
    run = relay.create_executor("vm", baton.IRModule.from_expr(common.shape_of(batch, start=-1))).evaluate()
    assert run(np.zeros((7, 3), "float32")).numpy().tolist() == [3]
    rows = common.unbind(x)
    assert [common.infer_shape(row) for row in rows] == [(3,), (3,)]
    with pytest.raises(AttributeError, match="no axis 2"):
        common.unbind(x, 2)
    assert common.infer_shape(common.ensure_scalar_shape(relay.var("s", shape=(1, 1)))) == ()
    with pytest.raises(baton.DiagnosticError, match="not one element"):
        common.ensure_scalar_shape(x)
    known = common.try_resolve_var_to_const(x, {"x": baton.nd.array(np.ones((2, 3), "float32"))})
    assert known.data.numpy().sum() == 6
    assert common.try_resolve_var_to_const(x, {}) is x


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("from_keras", "tf2onnx"),
        ("keras", "tf2onnx"),
        ("mxnet", "mxnet.onnx.export_model"),
        ("from_coreml", "onnxmltools"),
        ("from_paddle", "paddle2onnx"),
        ("from_darknet", "the network in PyTorch"),
        ("qnn_torch", "from_pytorch takes quantised programs"),
    ],
)
def test_other_importers_say_how_a_model_becomes_one_of_onnx(name: str, way: str) -> None:
    with pytest.raises(AttributeError, match=f"baton leaves it out; baton imports ONNX models .*{way}"):
        getattr(relay.frontend, name)


def test_imported_layers_have_the_form_that_patterns_of_external_compilers_look_for() -> None:
    """A convolution says the size of its kernel, and its bias, as that of a linear layer, is a vector."""
    dp = relay.dataflow_pattern
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Conv2d(4, 6, 3, groups=2), torch.nn.ConvTranspose2d(6, 4, 3, groups=2))
    model.append(torch.nn.Flatten(-3)).append(torch.nn.Linear(64, 5))
    traced = torch.jit.trace(model.eval(), torch.zeros(2, 4, 4, 4))
    main = relay.transform.InferType()(relay.frontend.from_pytorch(traced, [("x", (2, 4, 4, 4))])[0])["main"]
    layers = [(main.body, "nn.dense", {"axis": -1}, {})]
    convolutions = [node for node in _calls(main) if node.op.name == "nn.bias_add" and node.attrs.axis == 1]
    for name, channels in (("nn.conv2d", 6), ("nn.conv2d_transpose", 4)):
        of_kernel = {"kernel_size": [3, 3], "channels": channels}
        layers += [(node, name, {"axis": 1}, of_kernel) for node in convolutions if node.args[0].op.name == name]
    assert len(layers) == 3
    for node, name, axis, attributes in layers:
        layer = dp.is_op(name)(dp.wildcard(), dp.wildcard())
        layer = layer.has_attr(attributes) if attributes else layer
        assert dp.is_op("nn.bias_add")(layer, dp.is_var()).has_attr(axis).match(node), name


@pytest.mark.parametrize("kind", ["Average", "Max"])
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_imported_pools_have_the_form_that_patterns_of_external_compilers_look_for(kind: str, spatial: int) -> None:
    """Not that of a fold and a reshape, which they are compiled as."""
    onnx = pytest.importorskip("onnx")
    short, sizes = kind[:3].lower().replace("ave", "avg"), (2, 3, *(4, 5, 6)[:spatial])
    nodes = [onnx.helper.make_node(f"Global{kind}Pool", ["x"], ["p"]), onnx.helper.make_node("Flatten", ["p"], ["y"])]
    declared = onnx.helper.make_tensor_value_info("x", 1, sizes), onnx.helper.make_tensor_value_info("y", 1, (2, 3))
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "pools", declared[:1], declared[1:]))
    module, _ = relay.frontend.from_onnx(model)
    name = f"nn.global_{short}_pool2d" if spatial == 2 else f"nn.adaptive_{short}_pool{spatial}d"
    assert [node.op.name for node in _calls(module["main"])] == [name, "nn.batch_flatten"]
    x = np.random.default_rng(0).random(sizes, "float32")
    expected = getattr(x.reshape(2, 3, -1), {"avg": "mean"}.get(short, short))(2)
    np.testing.assert_allclose(relay.create_executor("vm", module).evaluate()(x).numpy(), expected, rtol=1e-6)


def test_global_pools_of_pytorch_have_their_names_in_relay() -> None:
    torch = pytest.importorskip("torch")
    traced = torch.jit.trace(torch.nn.AdaptiveAvgPool2d(1).eval(), torch.zeros(2, 3, 4, 5))
    main = relay.frontend.from_pytorch(traced, [("x", (2, 3, 4, 5))])[0]["main"]
    assert [node.op.name for node in _calls(main)] == ["nn.adaptive_avg_pool2d"]


def _calls(function: relay.Function) -> list[relay.Call]:
    found: list[relay.Call] = []
    relay.analysis.post_order_visit(function, lambda node: found.append(node) if isinstance(node, relay.Call) else None)
    return found
