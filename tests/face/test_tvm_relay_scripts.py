"""Programs over Relay as scripts for TVM write them: modules, building, running, saving, networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relay
from baton.contrib import graph_executor, graph_runtime, utils
from baton.contrib.debugger import debug_executor
from baton.relay import testing
from baton.relay.backend import Executor, Runtime

CPU = tvm.cpu(0)


def dense() -> tuple[Any, np.ndarray, np.ndarray]:
    x, w = relay.var("x", shape=(1, 4)), relay.var("w", shape=(3, 4))
    rng = np.random.default_rng(0)
    module = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    return module, rng.random((1, 4), np.float32), rng.random((3, 4), np.float32)


def test_a_call_tells_its_operator_attributes_and_type() -> None:
    data, weight = relay.var("data", shape=(1, 3, 8, 8)), relay.var("weight", shape=(4, 3, 3, 3))
    call = relay.nn.conv2d(data, weight, strides=(2, 2), padding=(1, 1), channels=4, kernel_size=(3, 3))
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(call))["main"].body
    assert typed.op.name == "nn.conv2d"
    assert typed.attrs.get_int_tuple("strides") == (2, 2)
    assert typed.attrs.get_int("groups") == 1
    assert typed.checked_type.concrete_shape == (1, 4, 4, 4)
    assert relay.analysis.list_op_freqs(tvm.IRModule.from_expr(call)) == {"nn.conv2d": 1}
    assert data.astype("int8").op.name == "cast"


def test_the_standard_files_can_be_imported_into_a_module() -> None:
    module = tvm.IRModule()
    module.import_from_std("prelude.rly")
    assert module.get_global_type_var("List").name_hint == "List"


def test_the_three_parts_of_a_build_are_saved_and_put_together_again() -> None:
    module, x, w = dense()
    graph, lib, params = relay.build(module, "llvm", params={"w": w})
    with utils.tempdir() as folder:
        path = folder.relpath("deploy_lib.so")
        lib.export_library(path)
        loaded = tvm.runtime.load_module(path)
    content = bytearray(relay.save_param_dict(params))
    for make in (graph_executor.create, debug_executor.create, graph_runtime.create):
        instance = make(graph, loaded, CPU)
        instance.load_params(content)
        instance.run(x=x)
        np.testing.assert_allclose(instance.get_output(0).numpy(), x @ w.T, rtol=1e-5)


def test_the_code_alone_makes_a_debug_executor() -> None:
    module, x, w = dense()
    lib = relay.build(module, "llvm", params={"w": w})
    for instance in (
        debug_executor.create(lib.get_graph_json(), lib.lib, CPU),
        debug_executor.GraphModuleDebug(lib["debug_create"]("default", CPU), [CPU], lib.get_graph_json(), None),
    ):
        instance.run(x=x)
        np.testing.assert_allclose(instance.get_output(0).numpy(), x @ w.T, rtol=1e-5)


def test_executors_and_runtimes_can_be_named() -> None:
    module, _, _ = dense()
    lib = relay.build(module, "llvm", executor=Executor("graph", {"link-params": True}), runtime=Runtime("cpp"))
    evaluate = graph_executor.GraphModule(lib["default"](CPU))
    evaluate.set_input(x=np.zeros((1, 4), "float32"), w=np.zeros((3, 4), "float32"))
    assert len(evaluate.module.time_evaluator("run", CPU, number=1, repeat=2)().results) == 2
    with pytest.raises(tvm.TVMError, match="no executor"):
        Executor("quick")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"executor": "vm"}, "relay.vm.compile"),
        ({"executor": 3}, "one of graph, aot"),
        ({"runtime": "xx"}, "one of cpp, crt"),
    ],
)
def test_builds_for_other_executors_and_runtimes_are_refused(options: dict[str, object], said: str) -> None:
    """Guards silences: such a build gave a graph executor, whatever it was asked for."""
    with pytest.raises(tvm.TVMError, match=said):
        relay.build(dense()[0], "llvm", **options)
    with pytest.raises(tvm.TVMError, match="has no option 'link-parameters'"):
        Executor("aot", {"link-parameters": True})


def test_the_machine_is_saved_as_two_parts() -> None:
    x = relay.var("x", shape=(relay.Any(), 4))
    built = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))), target="llvm")
    code, lib = built.save()
    machine = tvm.runtime.vm.VirtualMachine(tvm.runtime.vm.Executable.load_exec(code, lib), CPU)
    with pytest.raises(tvm.TVMError, match="the bytecode is not that of the library"):
        tvm.runtime.vm.Executable.load_exec(bytearray(b"other"), lib)
    assert machine.invoke("main", np.ones((3, 4), "float32")).shape == (3, 4)


COUNTS = {"mlp": 109_386, "mobilenet": 4_253_864, "squeezenet": 1_248_424, "dcgan": 12_662_272}


@pytest.mark.parametrize("name", COUNTS)
def test_networks_have_the_parameters_that_their_papers_say(name: str) -> None:
    module, params = getattr(testing, name).get_workload(1)
    assert sum(p.numpy().size for p in params.values()) == COUNTS[name]
    assert module["main"].checked_type is not None


@pytest.mark.parametrize(
    ("layers", "side", "classes", "millions"), [(18, 64, 1000, 11.7), (50, 64, 1000, 25.6), (20, 32, 10, 0.27)]
)
def test_residual_networks_of_all_depths(layers: int, side: int, classes: int, millions: float) -> None:
    _, params = testing.resnet.get_workload(1, classes, layers, (3, side, side))
    last_first, _ = testing.resnet.get_workload(1, classes, layers, (side, side, 3), "NHWC")
    assert last_first["main"].ret_type.concrete_shape == (1, classes)
    assert sum(p.numpy().size for p in params.values()) / 1e6 == pytest.approx(millions, rel=0.02)


def test_a_network_runs_and_is_the_same_each_time() -> None:
    module, params = testing.squeezenet.get_workload(1, 10, "1.1", (3, 32, 32))
    _, again = testing.squeezenet.get_workload(1, 10, "1.1", (3, 32, 32))
    assert all(np.array_equal(params[n].numpy(), again[n].numpy()) for n in params)
    instance = graph_executor.GraphModule(relay.build(module, "llvm", params=params)["default"](CPU))
    instance.run(data=np.random.default_rng(0).random((1, 3, 32, 32), np.float32))
    assert instance.get_output(0).numpy().sum() == pytest.approx(1.0, rel=1e-4)


def test_mistakes_are_pythons_own_kinds_of_errors_where_tvm_says_so() -> None:
    """Guards scripts that catch ValueError or TypeError, as TVM raises them."""
    with pytest.raises(ValueError, match="opt_level"):
        relay.transform.function_pass(lambda function, mod, ctx: function)
    with pytest.raises(TypeError, match="required"):
        relay.transform.function_pass(lambda function, mod, ctx: function, opt_level=1, required="InferType")
    with pytest.raises(ValueError, match="not both"):
        relay.var("x", relay.TensorType(()), shape=(1,))
    with pytest.raises(ValueError, match="cannot build"):
        relay.build("main", target="llvm")
    with pytest.raises(tvm.TVMError, match="ShapeVar"):
        relay.analysis.check_kind(relay.TupleType([relay.TypeVar("n", relay.TypeKind.ShapeVar)]))
    assert relay.analysis.check_kind(t=relay.GlobalTypeVar("List")) == relay.TypeKind.AdtHandle


def test_parameters_have_tvms_names_and_defaults() -> None:
    """Guards calls by keyword, and calls that leave out what TVM lets them."""
    x = relay.var("x", shape=(2, 3))
    assert (len(relay.Tuple([x])), relay.Tuple([x])[0]) == (1, x)
    with pytest.raises(IndexError):
        relay.Tuple([x])[1]
    assert relay.FuncType([], relay.scalar_type("int32"), None, None).type_params == ()
    assert relay.PatternTuple().patterns == relay.PatternConstructor(relay.Constructor("A", [], None), None).patterns
    module = tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([relay.exp(x), x])))
    halved = relay.transform.ChangeBatch({module["main"].params[0]: 0}, 1)(module)
    assert halved["main"].params[0].type_annotation.concrete_shape == (1, 3)
    optimized, _ = relay.optimize(module, target="llvm")
    assert isinstance(optimized["main"], relay.Function)
    seen: list[Any] = []
    relay.analysis.post_order_visit(expr=module["main"], fvisit=seen.append)
    assert seen[-1] is module["main"]
    relay.op.register_gradient("my.scripted", fgradient=lambda call, grad: [grad], level=11)

    @relay.transform.function_pass(opt_level=1)
    class Replaced:
        """A pass with a field."""

        def __init__(self, new: Any) -> None:
            self.new = new

        def transform_function(self, function: Any, mod: Any, ctx: Any) -> Any:
            return self.new

    instance = Replaced(relay.Function([x], x))
    assert Replaced.__name__ == "Replaced"
    assert tvm.ir.structural_equal(instance(module)["main"], instance.new)


def test_initializers_fill_parameters() -> None:
    """Guards testing.init: what an initializer is given, and that it fills in place."""
    net = testing.mobilenet.get_net(1, 10, (64, 64, 3), layout="NHWC")
    _, params = testing.init.create_workload(net, testing.init.Constant(0.5))
    assert all((p.numpy() == 0.5).all() for p in params.values())
    _, params = testing.create_workload(net, testing.init.Constant())
    assert np.isclose(params["fc_weight"].numpy().sum(), 1, rtol=1e-4)
    assert not params["fc_bias"].numpy().any()
    _, params = testing.create_workload(net, testing.init.Xavier())
    assert 0 < params["fc_weight"].numpy().std() < 0.1
    with pytest.raises(ValueError, match="zigzag"):
        testing.init.Xavier("zigzag")


def test_programs_are_saved_as_json(tmp_path: Path) -> None:
    x = relay.var("x", shape=(1, 4))
    body = relay.nn.softmax(relay.add(x, relay.const(np.arange(4, dtype="float32"))))
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))
    assert tvm.ir.structural_equal(tvm.ir.load_json(tvm.ir.save_json(module)), module)
    with pytest.raises(tvm.TVMError, match="not a program saved"):
        tvm.ir.load_json("{}")
