"""Names that scripts for TVM use beside the compiler: attribute classes, backends, objects, profiles, support."""

from __future__ import annotations

import importlib
import json

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.support.diagnostics import DiagnosticError
from baton.contrib.debugger import debug_executor
from baton.relay.backend import executor_factory, graph_executor_codegen, interpreter, name_transforms, utils
from baton.relay.build_module import get_executor_from_target
from baton.relay.op import op_attrs

CONVS = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %v: Tensor[(4, 4, 3, 3), float32]) {
  nn.conv2d(nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1])), %v)
}
"""


def test_classes_of_attributes() -> None:
    """Every name is a class, and the one that calls of the operator have."""
    classes = {name: getattr(op_attrs, name) for name in dir(op_attrs) if name.endswith("Attrs")}
    assert len(classes) > 100
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    assert isinstance(relay.nn.conv2d(x, w).attrs, op_attrs.Conv2DAttrs)
    assert not isinstance(relay.nn.conv2d(x, w).attrs, op_attrs.DenseAttrs)
    assert isinstance(relay.nn.max_pool2d(x).attrs, op_attrs.MaxPool2DAttrs)


def test_some_convolutions_keep_their_layout() -> None:
    """Layers count from 0 in the order of the program, anew for each `with`."""
    module = relay.transform.InferType()(relay.parse(CONVS))
    convert = relay.transform.ConvertLayout({"nn.conv2d": ["NHWC", "HWIO"]})
    for skipped, kept in (([0], 1), ([1], 1), ([0, 1], 2), ([], 0), ([7], 0)):
        with relay.transform.LayoutConfig(skip_layers=skipped):
            text = str(convert(module))
        assert text.count("nn.conv2d(") - text.count('data_layout="NHWC"') == kept, skipped
    assert str(convert(module)).count('data_layout="NHWC"') == 2


def test_optional_rules_of_fake_quantization() -> None:
    """They count for the operators that are named, and only then."""
    seen: list[str] = []

    @relay.op.register_optional_fake_quantization_to_integer("erf")
    def rule(call: relay.Call, types: dict[object, object]) -> list[object]:
        seen.append(call.op.name)
        return [relay.clip(call.args[0], -1, 1), types[call.args[0]]]

    x = relay.var("x", shape=(4,), dtype="int8")
    one, zero = relay.const(1.0), relay.const(0)
    body = relay.qnn.op.quantize(relay.erf(relay.qnn.op.dequantize(x, one, zero)), one, zero)
    module = relay.transform.InferType()(baton.IRModule.from_expr(relay.Function([x], body)))
    assert "erf" in str(relay.transform.FakeQuantizationToInteger()(module))
    assert "erf" not in str(relay.transform.FakeQuantizationToInteger(optional_qnn_ops=("erf",))(module))
    assert seen == ["erf"]


def test_backends() -> None:
    """Factories, code of graphs, the interpreter, names."""
    module = relay.parse(CONVS)
    library = relay.build(module, "llvm")
    assert isinstance(library, executor_factory.GraphExecutorFactoryModule)
    graph, kernels, params = graph_executor_codegen.GraphExecutorCodegen(None, "llvm").codegen(module, module["main"])
    assert json.loads(graph) == json.loads(library.get_graph_json())
    assert kernels["llvm"].functions
    assert params == {}
    x = relay.var("x", shape=(2,))
    found = interpreter.Interpreter().evaluate(relay.Function([x], x + x))(np.ones(2, "float32"))
    assert found.numpy().tolist() == [2, 2]
    assert isinstance(relay.create_executor("debug"), interpreter.Executor)
    assert get_executor_from_target("llvm", None).name == "graph"
    assert utils.mangle_module_name("default") == "tvmgen_default"
    assert name_transforms.to_c_function_style("hello_world") == "TVMHelloWorld"
    assert name_transforms.to_c_variable_style("TVMThing") == "tvm_thing"
    assert name_transforms.prefix_generated_name(["model", "run"]) == "TVMGen_model_run"
    assert name_transforms.sanitize_name("a+b c") == "a_b_c"


def test_spans() -> None:
    """What was parsed has places, what was built may not."""
    check = relay.parser.SpanCheck()
    check(relay.parse(CONVS))
    x = relay.Var("x", relay.TensorType((2,)))
    bare = relay.Call(relay.op.get("negative"), [x])
    with pytest.raises(DiagnosticError, match="1 expressions have no span"):
        check(baton.IRModule({"main": relay.Function([x], bare)}))
    span = relay.Span(relay.SourceName("file"), 1, 1, 2, 5)
    both = relay.SequentialSpan([span, relay.SequentialSpan([span])])
    assert both.spans == (span, span)
    assert relay.type_has_any(relay.TupleType([relay.TensorType((2, relay.Any()))]))
    assert not relay.type_has_any(relay.TensorType((2, 3)))


def test_objects() -> None:
    """isinstance for whatever is an object; nodes by key."""
    x = relay.var("x", shape=(2,))
    for thing in (x, x.type_annotation, relay.nn.relu(x), relay.build_config(), relay.transform.InferType(), [x]):
        assert isinstance(thing, baton.Object)
    assert not isinstance(3.0, baton.Object)
    assert isinstance(x.type_annotation.shape, baton.ir.Array)
    assert isinstance({}, baton.ir.container.Map)
    made = baton.ir.make_node("relay.attrs.Conv2DAttrs", strides=(2, 2))
    assert isinstance(made, op_attrs.Conv2DAttrs)
    assert tuple(int(s) for s in made.strides) == (2, 2)
    assert baton.ir.make_node("DictAttrs", x=1)["x"] == 1
    assert int(baton.ir.make_node("tir.IntImm", dtype="int32", value=3)) == 3
    with pytest.raises(DiagnosticError, match="node-unknown"):
        baton.ir.make_node("relay.Nothing")
    with pytest.raises(DiagnosticError, match="isinstance"):
        baton.Object()


def test_profiles() -> None:
    """A report as rows, CSV, JSON and back."""
    library = relay.build(relay.parse(CONVS), "llvm")
    graph = debug_executor.create(library.get_graph_json(), library, baton.cpu())
    inputs = {"x": (1, 3, 8, 8), "w": (4, 3, 3, 3), "v": (4, 4, 3, 3)}
    report = graph.profile(**{n: np.ones(s, "float32") for n, s in inputs.items()})
    assert isinstance(report, baton.runtime.profiling.Report)
    names = [row["Name"] for row in report.calls]
    assert len(names) >= 2
    assert report.csv().splitlines()[0] == "Name,Count,Duration (us),Percent,Argument Shapes"
    again = baton.runtime.profiling.Report.from_json(report.json())
    assert [row["Name"] for row in again.calls] == names
    assert "total" in report.table()
    assert "total" not in str(report.table(sort=False, aggregate=False, col_sums=False)).splitlines()[-1]


def test_support(capsys: pytest.CaptureFixture[str]) -> None:
    """Options as a script checks them."""
    assert baton.support.libinfo()["USE_LLVM"] == "ON"
    assert baton.support.libinfo().get("USE_CUDA", "OFF") == "OFF"
    baton.support.describe()
    assert "LLVM_VERSION" in capsys.readouterr().out


def test_graphs_say_what_their_nodes_make() -> None:
    """Tools read shapes, dtypes and storages of TVM's graph JSON, those of node k beginning at node_row_ptr[k]."""
    module = relay.parse('def @main(%x: Tensor[(2, 3), float32]) { nn.softmax(cast(exp(%x), dtype="float64")) }')
    graph = json.loads(relay.build(module, "llvm").get_graph_json())
    attrs, (head,) = {name: values for name, (_, values) in graph["attrs"].items()}, graph["heads"]
    assert graph["node_row_ptr"][0] == 0
    assert graph["node_row_ptr"][-1] == len(attrs["shape"]) == len(attrs["dltype"]) == len(attrs["storage_id"])
    result = graph["node_row_ptr"][head[0]] + head[1]
    assert (attrs["shape"][0], attrs["dltype"][0]) == ([2, 3], "float32")
    assert (attrs["shape"][result], attrs["dltype"][result]) == ([2, 3], "float64")
    assert attrs["storage_id"][0] != attrs["storage_id"][result]


def test_targets_of_boards() -> None:
    """The functions that scripts for boards call give targets by the board's name."""
    board = baton.target.arm_cpu("rasp4b64", options="-num-cores=4")
    assert (board.mcpu, board.mtriple, board.num_cores) == ("cortex-a72", "aarch64-linux-gnu", 4)
    assert board.keys == baton.target.riscv_cpu().keys == ("arm_cpu", "cpu")
    assert (board.tag, baton.target.Target({"kind": "llvm", "tag": "mine"}).tag) == ("", "mine")
    allowed = baton.target.Target("llvm -fast-math -cl-opt=-unroll-threshold:uint=100 -jit=orcjit -num-cores=2")
    assert (allowed.num_cores, allowed.attrs["cl-opt"]) == (2, ("-unroll-threshold:uint=100",))
    with pytest.raises(AttributeError, match="compiles for CPUs"):
        baton.target.mali  # noqa: B018


def test_texts_of_types_and_facts() -> None:
    """A pointer's text ended in a recursion; facts about modules have one base class."""
    assert str(baton.ir.PointerType(baton.ir.PrimType("float32"))) == 'T.handle("float32", "global")'
    device = baton.ir.VDevice("llvm", 1)
    assert isinstance(device, baton.ir.GlobalInfo)
    assert str(device) == 'I.vdevice("llvm", 1, "global")'
    assert device.target.kind.name == "llvm"  # a Target, as in TVM, not its text
    assert baton.ir.VDevice(baton.target.Target("llvm"), 1) == device


def test_faces_of_modules() -> None:
    """What was built, an instance of it and a library are asked for functions as any module of TVM."""
    x = relay.var("x", shape=(2,))
    built = relay.build(baton.IRModule.from_expr(relay.exp(x)), "llvm")
    assert (built.type_key, built.get_lib().mod) == ("GraphExecutorFactory", built.get_lib())
    assert built.implements_function("default")
    assert not built.implements_function("other")
    instance = built.get_function("default")(baton.cpu())
    instance.get_function("set_input")("x", np.zeros(2, "float32"))
    instance["run"]()
    assert instance.get_function("get_output")(0).numpy().tolist() == [1, 1]
    machine = baton.runtime.vm.VirtualMachine(relay.vm.compile(baton.IRModule.from_expr(relay.exp(x)), "llvm"))
    assert machine.benchmark(baton.cpu(), np.zeros(2, "float32"), number=1, repeat=1, end_to_end=True).results


def test_settings_are_refused_as_attributes() -> None:
    """Scripts catch an `AttributeError`, as TVM raises, for settings that there are not or that hold another kind."""
    for config in ({"relay.FuseOps.max_dept": 3}, {"relay.FuseOps.max_depth": "3"}):
        with pytest.raises(AttributeError, match=r"setting 'relay\.FuseOps\.max_dept"):
            baton.transform.PassContext(config=config)


def test_names_of_parameters() -> None:
    """Scripts give these by name."""
    module = baton.IRModule.from_expr(relay.var("x", shape=(2,))).with_attr(attr_key="k", attr_value=1)
    assert module.get_attr(attr_key="k") == 1
    assert module.without_attr(attr_key="k").get_attr("k") is None
    module.update_func(var=module.get_global_var("main"), func=relay.Function([], relay.const(1)))
    tensor = baton.nd.empty((2,))
    tensor.copyfrom(source_array=np.ones(2)).copyto(target=tensor, mem_scope=None)
    i = baton.tir.Var("i", "int32")
    analyzer = baton.arith.Analyzer()
    analyzer.bind(var=i, expr=baton.ir.Range(0, 4))
    with analyzer.constraint_scope(constraint=i > 2):
        assert analyzer.can_prove_equal(lhs=i, rhs=3)


def test_types_of_open_sizes() -> None:
    """Guards relay.ty.is_dynamic: named and unknown dims alike, also within tuples."""
    known, open_ = relay.TensorType((2, 3)), relay.TensorType((2, relay.Any()))
    assert [relay.ty.is_dynamic(t) for t in (known, open_)] == [False, True]
    assert relay.ty.is_dynamic(relay.TupleType([known, open_]))
    with pytest.raises(baton.TVMError, match="is_dynamic takes a tensor type"):
        relay.ty.is_dynamic(relay.FuncType([known], known))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("topi.generic.injective", "schedule_injective"),
        ("topi.image.resize", "resize2d"),
        ("topi.nn.depthwise_conv2d", "depthwise_conv2d_nchw"),
        ("relay.op.nn.utils", "get_pad_tuple2d"),
        ("meta_schedule.profiler", "Profiler"),
        ("auto_scheduler.compute_dag", "ComputeDAG"),
    ],
)
def test_names_by_tvms_modules(module: str, name: str) -> None:
    """Guards imports as scripts have them, under the alias: `from tvm.relay.op.nn.utils import get_pad_tuple2d`."""
    package, _, last = module.rpartition(".")
    holder = getattr(importlib.import_module(f"baton.{package}"), last)
    assert callable(getattr(holder, name))
