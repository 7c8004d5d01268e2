"""`relay.testing` and the short names of `tvm.relay`: what they give, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relay
from baton.relay import testing
from baton.relay.testing import densenet, dqn, inception_v3, lstm, resnet_3d
from baton.relay.testing.init import Initializer, create_workload
from baton.relay.testing.mobilenet import conv_block, mobile_net, separable_conv_block
from baton.relay.testing.resnet import residual_unit, resnet
from baton.relay.testing.vgg import get_classifier, get_feature
from tests.relay.programs import error_of

NETWORKS = {
    "densenet": (lambda: densenet.get_workload(batch_size=1), (1, 1000), 8_062_504),
    "dqn": (lambda: dqn.get_workload(1), (1, 18), 1_693_362),
    "dqn NHWC": (lambda: dqn.get_workload(1, image_shape=(84, 84, 4), layout="NHWC"), (1, 18), 1_693_362),
    "inception_v3": (inception_v3.get_workload, (1, 1000), 23_869_000),
    "lstm": (lambda: lstm.get_workload(3, 8), (1, 8), 576),
    "resnet_3d": (lambda: resnet_3d.get_workload(num_layers=10), (1, 1000), 14_877_224),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str) -> None:
    """Typed, with as many parameters as the papers' networks have (moving statistics counted)."""
    make, shape, count = NETWORKS[name]
    module, params = make()
    assert module["main"].checked_type.ret_type == relay.TensorType(shape)
    assert sum(p.numpy().size for p in params.values()) == count


def test_an_lstm_runs_everywhere() -> None:
    module, params = lstm.get_workload(2, 4)
    data = np.ones((1, 4), "float32")
    first, second = (relay.create_executor(k, module, params=params).evaluate()(data).numpy() for k in ("debug", "vm"))
    np.testing.assert_allclose(first, second, rtol=1e-5)


def test_natural_numbers() -> None:
    prelude = testing.Prelude(tvm.IRModule())
    testing.add_nat_definitions(prelude)
    two, three = (testing.make_nat_expr(prelude, n) for n in (2, 3))
    added = relay.Call(prelude.get_global_var("nat_add"), [two, three])
    assert testing.count(prelude, relay.create_executor("debug", prelude.mod).evaluate(added)) == 5
    assert testing.count(prelude, testing.make_nat_value(prelude, 7)) == 7


def test_gradients_are_checked() -> None:
    """A right one passes, a wrong one does not."""
    x = relay.var("x", shape=(2, 3), dtype="float64")
    testing.check_grad(relay.Function([x], relay.tanh(x) * x))
    name = "test.wrong_gradient"
    relay.op.op.register(name)
    op = relay.op.get(name)
    op.set_num_inputs(1)
    op.add_type_rel("Identity")
    relay.op.op.register_compute(
        name, lambda attrs, ins, t: [tvm.te.compute(ins[0].shape, lambda *i: ins[0](*i) * 2.0)]
    )
    relay.op.op.register_gradient(name, lambda call, grad: [grad])
    with pytest.raises(AssertionError):
        testing.check_grad(relay.Function([x], relay.Call(op, [x])))


def test_columns_for_a_while() -> None:
    add = relay.op.get("add")
    with testing.temp_op_attr.TempOpAttr("add", "FTVMLegalize", lambda attrs, args, types: args[0] - args[1]):
        assert add.has_attr("FTVMLegalize")
        x = relay.var("x", shape=(2,))
        assert "subtract" in relay.transform.Legalize()(tvm.IRModule.from_expr(relay.Function([x], x + x))).astext()
    assert not add.has_attr("FTVMLegalize")


def test_short_words() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    assert relay.bind(relay.Function([x, y], x + y), {y: relay.const([1.0, 2.0])}).params == (x,)
    assert relay.scalar_type("int32") == relay.TensorType((), "int32")
    assert "add" in relay.pretty_print(x + y)
    assert relay.testing.rand("float32", 2, 3).shape == (2, 3)
    marked = relay.annotation.on_device(x, tvm.cpu())
    found = relay.create_executor("graph").evaluate(relay.Function([x], relay.exp(marked)))(np.zeros(2, "float32"))
    assert found.numpy().tolist() == [1, 1]
    error = error_of(lambda: relay.annotation.on_device(x, tvm.cuda()))
    assert error.code == "device-missing"
    error = error_of(lambda: relay.device_copy(x, tvm.cpu(), "cuda"))
    assert error.code == "device-missing"


def test_counts() -> None:
    data, kernel = relay.var("d", shape=(1, 4, 8, 8)), relay.var("k", shape=(6, 2, 3, 3))
    conv: Any = relay.nn.conv2d(data, kernel, channels=6, kernel_size=(3, 3), groups=2)
    function = testing.run_infer_type(relay.Function([data, kernel], relay.cast(conv, "float16")))
    assert relay.analysis.get_total_mac_number(function) == 6 * 6 * 6 * 2 * 9
    assert relay.analysis.all_dtypes(function) == {"float32", "float16"}
    assert relay.analysis.check_constant(relay.Tuple([relay.const(1)]))


def test_loops() -> None:
    """A loop whose variable grows: its shape variable belongs to the function's type, and is not captured."""
    from_zero = relay.var("i", shape=(), dtype="int32"), relay.var("rows", shape=(relay.Any(), 1), dtype="int32")

    def more(i: Any, rows: Any) -> list[Any]:
        return [i + relay.const(1), relay.concatenate([rows, relay.reshape(i, (1, 1))], axis=0)]

    loop = relay.loops.while_loop(lambda i, rows: relay.less(i, relay.const(10)), from_zero, more)
    body = loop(relay.const(0), relay.reshape(relay.const(0), (1, 1)))
    module = tvm.IRModule.from_expr(relay.Function([], relay.TupleGetItem(body, 1)))
    for kind in ("debug", "vm"):
        found = relay.create_executor(kind, module).evaluate()().numpy()
        assert found[:, 0].tolist() == [0, *range(10)]


def test_loops_over_expressions() -> None:
    """Guards loops whose variables are told by values of their types, which had no names: TVM calls them arg0, arg1."""
    loop = relay.loops.while_loop(
        lambda i, a: relay.less(i, relay.const(5)),
        [relay.const(0), relay.const(1.0)],
        lambda i, a: [i + relay.const(1), a * relay.const(2.0)],
    )
    assert [p.name_hint for p in loop.params] == ["arg0", "arg1"]
    module = tvm.IRModule.from_expr(relay.Function([], loop(relay.const(2), relay.const(1.0))))
    for kind in ("debug", "vm"):
        assert [v.numpy().item() for v in relay.create_executor(kind, module).evaluate()()] == [5, 8]


def test_names_of_types_are_called() -> None:
    box, v = relay.GlobalTypeVar("Box"), relay.TypeVar("v")
    assert box(v) == relay.TypeCall(box, (v,))
    assert relay.op.get("nn.conv2d").get_attr("TOpPattern") == relay.op.OpPattern.OUT_ELEMWISE_FUSABLE


def test_gradients_are_checked_without_the_rounding_of_float32() -> None:
    """Sums of many products, and kinks near which a large step would lead."""
    d, w = relay.var("d", shape=(1, 2, 5, 5)), relay.var("w", shape=(3, 2, 3, 3))
    product = relay.nn.conv2d(d, w, padding=(1, 1))
    for body in (product, relay.nn.relu(product), relay.nn.max_pool2d(relay.abs(d), (2, 2))):
        relay.testing.check_grad(relay.Function(relay.analysis.free_vars(body), body), mode="first_order")


def test_blocks_of_networks() -> None:
    """Guards the parts that scripts build networks of their own from, and the networks by their parts."""
    image = relay.var("data", shape=(1, 3, 32, 32))
    unit = residual_unit(conv_block(image, "first", 8), 16, (2, 2), False, "unit", bottle_neck=False)
    assert shape_of(unit) == (1, 16, 16, 16)
    apart = separable_conv_block(conv_block(image, "first", 8), "second", 8, 24, downsample=True)
    assert shape_of(apart) == (1, 24, 16, 16)
    assert shape_of(get_feature(image, (1, 2), (4, 8))) == (1, 8, 8, 8)
    assert shape_of(get_classifier(get_feature(image, (1,), (4,)), 10)) == (1, 10)
    small = mobile_net(10, (1, 32, 32, 3), alpha=0.25, is_shallow=True, layout="NHWC")
    assert len(small.params) < len(mobile_net(10, (1, 32, 32, 3), layout="NHWC").params)
    net = resnet((1, 1, 1), 3, (8, 8, 16, 16), 10, (1, 3, 28, 28), bottle_neck=False)
    assert create_workload(net)[0]["main"].ret_type.shape == (1, 10)
    with pytest.raises(tvm.TVMError, match="3 stages take as many"):
        resnet((1, 1), 3, (8, 8, 16, 16), 10, (1, 3, 28, 28))
    pictures, _ = testing.dcgan.get_workload(1, oshape=(64, 64, 3), ngf=2, layout="NHWC")
    assert pictures["main"].ret_type.shape == (1, 64, 64, 3)


def shape_of(net: relay.Expr) -> tuple[int, ...]:
    typed = create_workload(relay.Function(relay.analysis.free_vars(net), net))[0]["main"]
    return tuple(int(d) for d in typed.ret_type.shape)


def test_scripts_fill_parameters() -> None:
    class Halves(Initializer):
        def _init_weight(self, name: str, arr: np.ndarray) -> None:
            arr[...] = 0.5

    _, params = create_workload(testing.mlp.get_net(1, image_shape=(1, 2, 2)), Halves())
    assert (params["fc1_weight"].numpy() == 0.5).all()
    assert (params["fc1_bias"].numpy() == 0).all()
    with pytest.raises(ValueError, match="no way to fill 'odd'"):
        Halves()("odd", np.zeros(2))
    with pytest.raises(NotImplementedError, match="no _init_weight"):
        Initializer()("fc_weight", np.zeros(2))


def test_options_of_executors() -> None:
    """Guards what scripts ask of executors: options by name with TVM's defaults, and which there are."""
    assert relay.backend.Executor("graph")["link-params"] is False
    assert "system-lib" in relay.backend.Runtime("crt", {"system-lib": True})
    assert "aot" in relay.backend.Executor.list_registered()
    assert "unpacked-api" in relay.backend.Executor.list_registered_options("aot")
    with pytest.raises(tvm.TVMError, match="there is no runtime 'tvm'"):
        relay.backend.Runtime.list_registered_options("tvm")
