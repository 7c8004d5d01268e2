"""`relay.analysis`' questions about devices, features, layers, quantised regions; `BuildModule`."""

from __future__ import annotations

import numpy as np
import pytest

from baton import relay
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.device import CPU
from baton.contrib.graph_executor import GraphModule
from baton.relay import analysis
from baton.relay.analysis import Feature
from tests.relay.programs import read_module

DEVICES = """def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
  let %a = on_device(exp(%x), virtual_device="cuda");
  let %b = device_copy(%y, src_virtual_device="cpu", dst_virtual_device="opencl");
  (%a, negative(%b)) }"""


def test_devices() -> None:
    """What marks and copies say, spread to all that has to be on the same device."""
    conflict = read_module(DEVICES.replace('"cuda")', '"cuda", constrain_result=True)'))
    with pytest.raises(DiagnosticError, match=r"on cuda and on opencl|on opencl and on cuda"):  # a tuple is on one
        analysis.context_analysis(conflict)
    module = read_module(DEVICES.replace("(%a, negative(%b))", "negative(%b)"))
    main = module["main"]
    found = analysis.context_analysis(module, "rocm")
    body = main.body
    assert found[body.value.args[0]].device_type == 2
    assert found[body.body.body].device_type == 4
    assert found[main.params[1]].device_type == 1
    assert found[body.value].device_type == 10
    info = analysis.collect_device_info(main)
    assert info[body.body.body] == 4
    assert body.value not in info
    assert analysis.collect_device_annotation_ops(main) == {body.value: 2}


def test_features() -> None:
    module = read_module("def @main(%n: int32) -> int32 { if (%n == 0) { 1 } else { @main(%n - 1) } }")
    wanted = {Feature.fVar, Feature.fGlobalVar, Feature.fConstant, Feature.fFunction, Feature.fOp, Feature.fCall}
    assert analysis.detect_feature(module) == {*wanted, Feature.fIf}
    x = relay.var("x", shape=(2,))
    shared = relay.exp(x)
    found = analysis.detect_feature(relay.Tuple([shared, shared]), module)
    assert {Feature.fGraph, Feature.fTuple, Feature.fIf} <= found
    assert int(Feature.fLetRec) == 16


def test_features_of_parameters_and_kernels() -> None:
    """Parameters are variables even where nothing uses them; what is in kernels does not count."""
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    assert analysis.detect_feature(relay.Function([x], relay.const(1))) == {Feature(0), Feature(2), Feature(5)}
    kernel = relay.Function([y], relay.exp(y)).with_attr("Primitive", 1)
    found = analysis.detect_feature(relay.Function([x], relay.Call(kernel, [x])))
    assert found == {Feature.fVar, Feature.fFunction, Feature.fCall}


def test_variables_come_with_outer_binders_first() -> None:
    x, y, z, w = (relay.var(name, shape=(2,)) for name in "xyzw")
    inner = relay.Function([w], relay.add(w, y))
    function = relay.Function([x], relay.Let(y, relay.add(x, z), inner))
    assert analysis.bound_vars(function) == [x, y, w]
    assert analysis.all_vars(function) == [x, y, z, w]
    assert analysis.free_vars(function) == [z]


def test_well_formed_variables() -> None:
    """Each is bound once, used only where it is bound, and free everywhere or nowhere; parts may be shared."""
    x, one = relay.var("x", shape=()), relay.const(1.0)
    assert analysis.well_formed(relay.Tuple([relay.Let(x, one, x)] * 2))
    assert analysis.well_formed(relay.add(x, x))
    assert not analysis.well_formed(relay.Tuple([relay.Let(x, one, x), x]))
    assert not analysis.well_formed(relay.Tuple([x, relay.Let(x, one, x)]))
    assert not analysis.well_formed(relay.Tuple([relay.Function([x], x), relay.Function([x], x)]))


def test_constructors_bind_the_type_variables_of_their_type() -> None:
    prelude = relay.Prelude(IRModule())
    _, cons, nil = prelude.mod.get_type("List")
    expr = cons(relay.const(1), nil())
    assert analysis.free_type_vars(expr, prelude.mod) == []
    assert analysis.bound_type_vars(expr, prelude.mod) == analysis.all_type_vars(expr, prelude.mod) != []
    with pytest.raises(DiagnosticError, match="does not define List"):
        analysis.free_type_vars(expr)


def test_multiplications() -> None:
    """Blocked weights count as their plain twins do; sizes known at run time are an error."""
    data, weight = relay.var("d", shape=(1, 2, 8, 8, 4)), relay.var("k", shape=(2, 2, 3, 3, 4, 8))
    conv = {"kernel_size": (3, 3), "padding": (1, 1)}
    blocked = relay.nn.conv2d(data, weight, channels=16, data_layout="NCHW4c", kernel_layout="OIHW4i8o", **conv)
    assert analysis.get_total_mac_number(blocked) == 16 * 64 * 8 * 9
    data, weight = relay.var("d", shape=(1, 8, 8, 6)), relay.var("k", shape=(6, 4, 3, 3))
    layouts = {"data_layout": "NHWC", "kernel_layout": "IOHW"}
    back = relay.nn.conv2d_transpose(data, weight, channels=8, groups=2, **layouts, **conv)
    assert analysis.get_total_mac_number(back) == 8 * 64 * 9 * 6 // 2
    open_rows = relay.nn.dense(relay.var("a", shape=(relay.Any(), 4)), relay.var("b", shape=(5, 4)))
    with pytest.raises(DiagnosticError, match="only at run time"):
        analysis.get_total_mac_number(open_rows)


def test_operators_of_main_are_counted() -> None:
    module = read_module("def @f(%x: float32) { exp(%x) } def @main(%x: float32) { @f(sin(%x)) }")
    assert analysis.list_op_freqs(module) == {"sin": 1}


def test_basic_block_normal_form() -> None:
    x = relay.var("x", shape=())
    y = relay.exp(x)
    one = relay.Function([x], relay.If(relay.less(x, x), y, relay.negative(y)))
    assert not analysis.check_basic_block_normal_form(one)
    after = relay.transform.ToBasicBlockNormalForm()(IRModule({"main": one}))["main"]
    assert analysis.check_basic_block_normal_form(after)
    assert analysis.check_basic_block_normal_form(y)


def test_layers_are_counted_along_the_deepest_path() -> None:
    module, _ = relay.testing.mlp.get_workload(1)
    assert analysis.count_layers(module["main"], ["nn.dense"]) == 3
    x = relay.var("x", shape=(2, 2))
    w = relay.var("w", shape=(2, 2))
    side_by_side = relay.add(relay.nn.dense(x, w), relay.nn.dense(w, x))
    assert analysis.count_layers(side_by_side) == 1


def test_fake_quantized_operators() -> None:
    q = 'dtype="int8"'
    module = read_module(f"""def @main(%x: Tensor[(2, 2), int8], %y: Tensor[(2, 2), float32]) {{
      let %a = qnn.dequantize(%x, 2f, 0); let %b = nn.relu(reshape(%a, newshape=[4]));
      (qnn.quantize(nn.relu(reshape(qnn.dequantize(%x, 2f, 0), newshape=[4])), 2f, 0, out_{q}),
       qnn.quantize(exp(%y), 2f, 0, out_{q}), exp(%b)) }}""")
    assert analysis.list_fake_quantized_op_freqs(module) == {"reshape": 1, "nn.relu": 1}
    shared = read_module(f"""def @main(%x: Tensor[(2), int8]) {{
      %0 = nn.relu(qnn.dequantize(%x, 2f, 0));
      (qnn.quantize(%0, 2f, 0, out_{q}), qnn.quantize(exp(%0), 2f, 0, out_{q})) }}""")
    assert analysis.list_fake_quantized_op_freqs(shared) == {"nn.relu": 2, "exp": 1}


def test_search_fc_transpose() -> None:
    x, w = relay.var("x", shape=(1, 4)), relay.var("w", shape=(4, 3))
    dense = relay.nn.dense(x, relay.transpose(w, [1, 0]))
    assert analysis.search_fc_transpose(relay.Function([x, w], dense)) == ["w"]
    assert analysis.search_fc_transpose(dense) == ["w"]
    assert analysis.search_fc_transpose(relay.Tuple([dense, w])) == []


def test_calibration_data() -> None:
    module = read_module("""
def @part(%a: Tensor[(2), float32], %b: Tensor[(2), float32], Compiler="other") { (%a + %b, %a * %b) }
def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) { let %z = @part(exp(%x), %y); %z.0 - %z.1 }
""")
    x, y = np.float32([0, 1]), np.float32([2, 3])
    ((var, found),) = analysis.get_calibration_data(module, {"x": x, "y": y}).items()
    assert var.name_hint == "part"
    np.testing.assert_allclose(found["inputs"][0].numpy(), np.exp(x), rtol=1e-6)
    np.testing.assert_allclose(found["outputs"][1].numpy(), np.exp(x) * y, rtol=1e-6)
    twice = read_module("""def @p(%a: float32, Compiler="other") { %a } def @main(%x: float32) { @p(@p(%x)) }""")
    with pytest.raises(DiagnosticError, match="twice"):
        analysis.get_calibration_data(twice, {"x": np.float32(1)})


def test_annotated_regions() -> None:
    begin, end = relay.op.get("annotation.compiler_begin"), relay.op.get("annotation.compiler_end")

    def mark(op: object, value: object) -> relay.Call:
        return relay.Call(op, [value])

    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    starts = [mark(begin, x), mark(begin, y)]
    inner = relay.add(*starts)
    first = mark(end, relay.exp(inner))
    outside = relay.negative(first)
    second = mark(end, relay.exp(mark(begin, outside)))
    regions = analysis.AnnotatedRegionSet(second, begin, end)
    assert len(regions) == 2
    region = regions.get_region(inner)
    assert (region.ins, region.outs) == (starts, [first])
    assert len(region.nodes) == 5
    assert regions.get_region(second) is not region
    assert regions.get_region(outside) is None


def test_build_module() -> None:
    """Its parts are those of `relay.build`; before building there are none."""
    builder = relay.build_module.BuildModule()
    for ask in (builder.get_graph_json, builder.get_module, builder.get_irmodule, builder.get_devices):
        with pytest.raises(DiagnosticError, match="nothing is built"):
            ask()
    x, w = relay.var("x", shape=(1, 4)), relay.var("w", shape=(3, 4))
    function = relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w)))
    weight = np.ones((3, 4), "float32")
    module, params = builder.optimize(function, "llvm", params={"w": weight})
    assert [p.name_hint for p in module["main"].params] == ["x"]
    assert params == {}  # the weight is a constant now
    builder.set_params({"w": weight})
    graph, library, params = builder.build(IRModule({"main": function}), "llvm")
    assert graph == builder.get_graph_json()
    assert list(builder.get_params()) == list(params) == ["w"]
    assert builder.get_irmodule()["main"].params[0].name_hint == "x"
    assert builder.get_function_metadata() == {"main": ["x"]}
    run = GraphModule(library["default"](CPU))
    run.set_input("x", np.ones((1, 4), "float32"))
    run.run()
    assert run.get_output(0).numpy().tolist() == [[4, 4, 4]]
    assert builder.get_module() is library
    assert builder.get_devices() == ["cpu"]
    assert builder.get_lib() is library.executable


@pytest.mark.parametrize("ask", ["all_vars", "bound_vars", "free_vars", "well_formed", "check_kind", "detect_feature"])
def test_what_is_no_part_of_a_program_is_refused(ask: str) -> None:
    """It was well-formed, of no variables, and a type."""
    with pytest.raises(TypeError, match="was expected, got int"):
        getattr(analysis, ask)(3)
    with pytest.raises(TypeError, match="got IRModule"):
        analysis.free_vars(IRModule())


def test_calibration_without_data_names_the_parameter() -> None:
    module = read_module("""def @p(%a: float32, Compiler="other") { %a } def @main(%x: float32) { @p(%x) }""")
    with pytest.raises(DiagnosticError, match="no data is given for x"):
        analysis.get_calibration_data(module, {})
