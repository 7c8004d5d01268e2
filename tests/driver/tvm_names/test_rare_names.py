"""Names that few scripts for TVM use, each in the small program it is for: passes, functors, builders, machines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, relay, te, tir
from baton._src.support.diagnostics import DiagnosticError
from baton.ir import Op
from baton.script import ir_builder
from baton.script import relax as R
from baton.script import tir as T
from baton.script.ir_builder import ir as builder_ir
from baton.script.ir_builder import relax as builder_relax


def test_relay_passes_that_join_branches_and_derive() -> None:
    """Guards BatchingOps (three equal products become one) and FirstOrderGradient, by their results."""
    x, *weights = (relay.var(name, shape=shape) for name, shape in zip("xabc", [(2, 4), *[(3, 4)] * 3]))
    products = relay.Tuple([relay.nn.dense(x, w) for w in weights])
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, *weights], products)))
    with tvm.transform.PassContext(opt_level=4):
        batched = relay.transform.BatchingOps()(module)
    assert "nn.batch_matmul" in str(batched)
    rng = np.random.default_rng(0)
    data = [rng.standard_normal(shape).astype("float32") for shape in [(2, 4), *[(3, 4)] * 3]]
    found = relay.create_executor("graph", mod=batched, target="llvm").evaluate()(*data)
    for one, weight in zip(found, data[1:]):
        np.testing.assert_allclose(one.numpy(), data[0] @ weight.T, rtol=1e-5)
    square = relay.Function([x], relay.multiply(x, x))
    derived = relay.transform.FirstOrderGradient()(relay.transform.InferType()(tvm.IRModule.from_expr(square)))
    value, (slope,) = relay.create_executor("graph", mod=derived, target="llvm").evaluate()(data[0])
    np.testing.assert_allclose(value.numpy(), data[0] ** 2, rtol=1e-6)
    np.testing.assert_allclose(slope.numpy(), 2 * data[0], rtol=1e-6)


def test_functors_over_relay() -> None:
    """Guards visitors and mutators of types and expressions whose subclasses override one kind."""
    seen: list[Any] = []

    class Halves(relay.TypeMutator):
        def visit_tensor_type(self, t: Any) -> Any:
            return relay.TensorType(t.shape, "float16")

    class Tensors(relay.TypeVisitor):
        def visit_tensor_type(self, t: Any) -> None:
            seen.append(t)

    class Calls(relay.ExprVisitor):
        def visit_call(self, call: Any) -> None:
            seen.append(call.op.name)
            super().visit_call(call)

        def visit_let(self, let: Any) -> None:
            seen.append("let")
            super().visit_let(let)

    tensors = [relay.TensorType((n,)) for n in (2, 3, 4)]
    kind = relay.FuncType([tensors[0], relay.TupleType([tensors[1]])], relay.RefType(tensors[2]))
    Tensors().visit(kind)
    assert seen == tensors
    halves = [relay.TensorType((n,), "float16") for n in (2, 3, 4)]
    assert Halves().visit(kind) == relay.FuncType([halves[0], relay.TupleType([halves[1]])], relay.RefType(halves[2]))
    seen.clear()
    x, y = relay.var("x", shape=(2,)), relay.var("y")
    chosen = relay.If(relay.const(True), relay.add(y, y), y)
    Calls().visit(relay.Function([x], relay.Let(y, relay.exp(x), chosen)))
    assert seen == ["let", "exp", "add"]


def test_modules_frame_by_frame() -> None:
    """Guards attributes and devices of the module that the IR builder is at."""
    with ir_builder.IRBuilder() as builder, builder_ir.ir_module():
        builder_ir.module_attrs({"a": 1})
        builder_ir.module_set_attr("k", "v")
        assert builder_ir.module_get_attr("k") == "v"
        assert dict(builder_ir.module_get_attrs()) == {"a": 1, "k": "v"}
        builder_ir.module_global_infos({"vdevice": [builder_ir.vdevice("llvm")]})
        device = builder_ir.lookup_vdevice("llvm", 0)
        with builder_relax.function():
            builder_relax.func_name("f")
            builder_relax.func_ret_value(builder_relax.arg("x", R.Tensor((2,), "float32")))
    module = builder.get()
    assert dict(module.attrs) == {"a": 1, "k": "v"}
    assert list(module.global_infos["vdevice"]) == [device]
    module.update_global_info("vdevice", [tvm.ir.VDevice("llvm", 1)])
    assert module.global_infos["vdevice"][0].vdevice_id == 1


def test_kernels_with_gradients_of_their_own() -> None:
    """Guards emit_te_with_grad: the call names its gradient."""
    builder, x = relax.BlockBuilder(), relax.Var("x", R.Tensor((2,), "float32"))

    def doubled(a: te.Tensor) -> te.Tensor:
        return te.compute(a.shape, lambda i: a[i] * 2, "doubled")

    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(builder.emit_te_with_grad(doubled, x, te_grad_name="tests.of_doubled"))
        builder.emit_func_output(y)
    call = builder.get()["main"].body.blocks[0].bindings[0].value
    assert call.op == Op.get("relax.call_tir_with_grad")
    assert call.attrs.te_grad_name == "tests.of_doubled"


def test_machines_are_asked_and_told() -> None:
    """Guards the executables' lists, single inputs, and functions of hand-made bytecode."""
    x, y = relay.var("x", shape=(2, 4)), relay.var("y", shape=(2, 4))
    module = tvm.IRModule.from_expr(relay.Function([x, y], relay.exp(relay.add(x, y))))
    executable = relay.vm.compile(module, "llvm")
    assert executable.get_function_params("main") == ["x", "y"]
    assert executable.primitive_ops
    assert "device type 1" in executable.virtual_devices
    machine = tvm.runtime.vm.VirtualMachine(executable, tvm.cpu(), memory_cfg="naive")
    machine.set_one_input("main", "y", np.ones((2, 4), "float32"))
    machine.set_one_input("main", "x", np.zeros((2, 4), "float32"))
    machine.invoke_stateful("main")
    np.testing.assert_allclose(machine.get_outputs()[0].numpy(), np.full((2, 4), np.e), rtol=1e-6)
    made = relax.ExecBuilder()
    with made.function("copied", num_inputs=1):
        made.emit_call("vm.builtin.copy", args=[made.r(0)], dst=made.r(1))
        made.emit_ret(made.r(1))
    assert made.check_func_exists("copied")
    assert not made.check_func_exists("other")
    machine = relax.VirtualMachine(made.get(), tvm.cpu())
    assert machine["copied"](tvm.nd.array(np.arange(3))).numpy().tolist() == [0, 1, 2]


def test_schedules_ask_and_forget() -> None:
    """Guards can_decompose_padding, both answers; forgetting a handle changes nothing."""

    @T.prim_func
    def padded(x: T.Buffer((8,), "float32"), y: T.Buffer((10,), "float32")) -> None:
        for i in range(10):
            with T.block("pad"):
                vi = T.axis.spatial(10, i)
                y[vi] = T.if_then_else(vi >= 1 and vi < 9, x[vi - 1], 0.0)

    schedule = tir.Schedule(padded)
    block = schedule.get_block("pad")
    (loop,) = schedule.get_loops(block)
    assert schedule.can_decompose_padding(block, loop)
    schedule.decompose_padding(block, loop)
    assert len(schedule.get_child_blocks(schedule.get_block("root"))) == 2
    again, before = schedule.get_block("pad"), schedule.mod
    assert not schedule.can_decompose_padding(again, schedule.get_loops(again)[0])
    schedule.remove_rv(again)
    tvm.ir.assert_structural_equal(schedule.mod, before)


def test_targets_by_map() -> None:
    target = tvm.target.Target
    module = tvm.IRModule()
    found, host = target.canon_target_map_and_host({"llvm -mcpu=x86-64": module}, "llvm")
    assert ([str(one) for one in found], list(found.values())) == (["llvm -keys=cpu -mcpu=x86-64"], [module])
    assert str(host) == str(target.canon_multi_target_and_host("llvm")[0]) == "llvm -keys=cpu"
    assert target("llvm -libs=mlas").libs == ["mlas"]


def test_analyzers_by_their_many_names() -> None:
    analyzer, x = tvm.arith.Analyzer(), tir.Var("x", "int64")
    analyzer.bind(x, tvm.ir.Range(0, 10))
    assert str(analyzer.canonical_simplify(x * 2 + x)) == str(analyzer.rewrite_simplify(x + x * 2)) == "x * T.int64(3)"
    assert analyzer.can_prove_greater_equal(x, 0)
    assert analyzer.can_prove_less(x, 10)
    assert not analyzer.can_prove_less(x, 9)
    assert analyzer.const_int_bound_is_bound(x)
    analyzer.enabled_extensions = tvm.arith.Extension.ComparisonOfProductAndSum
    assert analyzer.enabled_extensions == tvm.arith.Extension.ComparisonOfProductAndSum
    assert tvm.arith.IntervalSet(1, 1).is_single_point()
    assert not tvm.arith.IntervalSet(1, 2).is_single_point()
    assert tvm.arith.IntervalSet(tvm.arith.int_set.neg_inf(), tvm.arith.int_set.pos_inf()).is_everything()


@pytest.mark.parametrize("call", [tir.tvm_throw_last_error(), tir.tvm_stack_make_shape(1, 2), tir.lookup_param("p")])
def test_what_tvm_lowers_calls_to_has_no_code(call: Any) -> None:
    """Guards intrinsics of TVM's own lowering: they are built and printed, and compiling them is refused by name."""
    a, place = tir.decl_buffer((4,), "float32", "A"), tir.Var("a", "handle")
    body = tir.SeqStmt([tir.Evaluate(call), tir.BufferStore(a, tir.const(1.0), [0])])
    kernel = tir.PrimFunc([place], body, buffer_map={place: a}).with_attr("global_symbol", "f")
    assert call.op.name.removeprefix("tir.") in kernel.script()
    with pytest.raises(DiagnosticError, match=f"{call.op.name} has no native code"):
        tvm.build(kernel, target="llvm")


def test_modules_that_hold_what_packages_hold() -> None:
    """Guards imports of modules as TVM splits them, and lists of what is left out with the reason."""
    from baton.autotvm.tuner import callback
    from baton.topi.random import threefry_generate
    from baton.topi.vision.rcnn import proposal
    from baton.topi.vision.ssd import multibox_prior

    assert callback is tvm.autotvm.callback
    assert tvm.topi.vision.ssd.multibox_prior is multibox_prior
    assert tvm.topi.vision.rcnn.proposal is proposal
    key = te.placeholder((10,), "uint64", "key")
    assert [t.dtype for t in threefry_generate(key, (4,))] == ["uint64", "uint64"]
    assert tvm.container is tvm.ir.container
    for place, name, why in (
        (tvm.topi, "cpp", "functions of topi"),
        (tvm.testing, "identity_cpp", "test equipment"),
        (tvm.auto_scheduler, "PreloadCustomSketchRule", "one way to search"),
    ):
        with pytest.raises(AttributeError, match=why):
            getattr(place, name)


def test_objects_and_columns() -> None:
    """Guards what scripts ask of values, operators and modules: strings, purity, kinds of code, arguments."""
    assert isinstance(tvm.runtime.convert("x"), tvm.runtime.String)
    assert not isinstance(1, tvm.runtime.String)
    assert tvm.runtime.String("a") + "b" == "ab"
    assert Op.get("relax.add").get_attr("FPurity") is True
    assert Op.get("relax.print").get_attr("FPurity") is False
    assert Op.get("add").get_attr("FPurity") is None
    for name in ("relax.call_tir", "relax.memory.alloc_tensor"):
        assert Op.get(name) is Op.get(name)
        assert name in Op.list_op_names()
    a = te.placeholder((4,), name="A")
    schedule = te.create_schedule(te.compute((4,), lambda i: a[i] + 1, "B").op)
    kernel = tvm.build(schedule, [a, schedule.outputs[0].output(0)], "llvm")
    assert (kernel.type_key, kernel.is_runnable, kernel.is_dso_exportable) == ("llvm", True, True)
    assert kernel.implements_function(kernel.entry_name)
    stream = tvm.cpu().create_raw_stream()
    tvm.cpu().set_raw_stream(stream)
    tvm.cpu().sync(stream)
    tvm.cpu().free_raw_stream(stream)
    module = tvm.IRModule({"main": te.create_prim_func([a])})
    (info,) = tvm.meta_schedule.arg_info.ArgInfo.from_entry_func(module)
    assert info.as_json() == ["TENSOR", "float32", [4]]
