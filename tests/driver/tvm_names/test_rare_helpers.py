"""Helpers that few scripts for TVM use, each in the small program it is for: training, functors, testing, targets."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, relay, tir
from baton.contrib import cc
from baton.ir import Op
from baton.relax.frontend import nn
from baton.relax.frontend.nn.core import get_default_dtype, set_default_dtype
from baton.relax.training import SetupTrainer, Trainer
from baton.relax.training.loss import MSELoss
from baton.relax.training.optimizer import SGD
from baton.relay import quantize
from baton.relay.analysis import extract_intermdeiate_expr
from baton.script import ir as I
from baton.script import relax as R
from baton.target import codegen, tag


def test_trainers_tell_where_time_goes() -> None:
    """Guards SetupTrainer.transform_module, which is what calling it does, and profile_adjoint of the result."""

    @I.ir_module
    class Linear:
        I.module_attrs({"param_num": 1, "state_num": 0})

        @R.function
        def backbone(x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32")):
            with R.dataflow():
                o = R.matmul(x, w)
                R.output(o)
            return o

    info = R.Tensor((2, 4), "float32")
    setup = SetupTrainer(MSELoss(reduction="sum"), SGD(0.01), [info, info])
    made = setup(Linear)
    tvm.ir.assert_structural_equal(setup.transform_module(Linear, tvm.transform.PassContext()), made)
    machine = relax.VirtualMachine(relax.build(made, "llvm"), tvm.cpu(), profile=True)
    trainer = Trainer(made, machine, tvm.cpu(), False)
    trainer.load_params([np.ones((3, 4), "float32")])
    x, y = np.ones((2, 3), "float32"), np.full((2, 4), 2, "float32")
    assert trainer.update(x, y).numpy() == 8
    assert trainer.profile_adjoint(x, y).calls


def test_functors_over_relax() -> None:
    """Guards visitors that override some kinds, and what a mutator knows of variables it made anew."""
    seen: list[Any] = []

    class Kinds(relax.expr_functor.ExprVisitor):
        def visit_call_(self, call: Any) -> None:
            seen.append(call.op.name)
            super().visit_call_(call)

        def visit_if_(self, branch: Any) -> None:
            seen.append("if")
            super().visit_if_(branch)

        def visit_tuple_getitem_(self, item: Any) -> None:
            seen.append("item")
            super().visit_tuple_getitem_(item)

    @relax.expr_functor.mutator
    class ExpToLog(relax.expr_functor.PyExprMutator):
        def visit_call_(self, call: Any) -> Any:
            call = self.visit_expr_post_order(call)
            return relax.op.log(*call.args) if call.op == Op.get("relax.exp") else call

        def visit_var_binding_(self, binding: Any) -> None:
            super().visit_var_binding_(binding)
            seen.append(self.get_var_remap(binding.var).name_hint)

    @R.function
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
        if c:
            y = R.exp(x)
        else:
            y = R.add(x, x)
        z = (y, x)
        w = z[0]
        return w

    Kinds().visit_expr(main)
    assert seen == ["if", "relax.exp", "relax.add", "item"]
    seen.clear()
    changed = ExpToLog(tvm.IRModule({"main": main})).visit_expr(main)
    assert "R.log(x)" in changed.script()
    assert {"y", "z", "w"} <= set(seen)


def test_nodes_with_other_fields() -> None:
    """Guards Relay's copies of nodes with some fields changed, and the part of a program by number."""
    x, one, two = relay.var("x", shape=(2,)), relay.const(1.0), relay.const(2.0)
    assert relay.ConstantWithFields(one, two.data).data.numpy() == 2
    assert relay.IfWithFields(relay.If(relay.const(True), x, one), false_branch=two).false_branch is two
    reference = relay.RefCreate(x)
    assert relay.RefCreateWithFields(reference, one).value is one
    assert relay.RefReadWithFields(relay.RefRead(reference), relay.RefCreate(one)).ref.value is one
    assert relay.RefWriteWithFields(relay.RefWrite(reference, x), reference, two).value is two
    module = tvm.IRModule.from_expr(relay.Function([x], relay.exp(relay.log(x))))
    assert extract_intermdeiate_expr(module, 0)["main"].body.op == Op.get("log")


def test_words_of_quantization() -> None:
    assert quantize.kind2str(quantize.QAnnotateKind.INPUT) == "input"
    with quantize.qconfig(nbit_activation=16, dtype_input="int8"):
        config = quantize.current_qconfig()
        assert (config.nbit_activation, config.dtype_input) == (16, "int8")


def test_tensors_and_layers_of_nn() -> None:
    """Guards tensors from numbers, the default dtype, and layers that few models have."""

    class Model(nn.Module):
        def __init__(self) -> None:
            self.conv, self.gelu, self.same = nn.Conv3D(2, 3, 1), nn.GELU(), nn.Identity()

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            doubled = self.same(self.gelu(self.conv(x))) * nn.Tensor.from_scalar(2, "float32")
            return doubled + nn.Tensor.from_const(np.ones((1,), "float32"))

    module, params = Model().export_tvm({"forward": {"x": nn.spec.Tensor((1, 2, 2, 2, 2), "float32")}})
    weights = [np.full(p.shape, 0.5, "float32") for _, p in params]
    machine = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    found = machine["forward"](tvm.nd.array(np.ones((1, 2, 2, 2, 2), "float32")), *map(tvm.nd.array, weights))
    np.testing.assert_allclose(found.numpy(), np.full((1, 3, 2, 2, 2), 2 * 1.3997892 + 1), rtol=1e-5)
    assert nn.Tensor.from_struct_info(R.Tensor((2,), "float32"), "n").shape == [2]
    set_default_dtype("float16")
    try:
        assert (get_default_dtype(), nn.Linear(2, 2).weight.dtype) == ("float16", "float16")
    finally:
        set_default_dtype("float32")


def test_what_the_host_is() -> None:
    """Guards questions about LLVM and the processor, tags of targets, and devices that are there by name only."""
    assert codegen.llvm_version_major() >= 14
    assert codegen.llvm_get_system_cpu()
    assert codegen.llvm_get_system_triple().count("-") >= 2
    assert codegen.llvm_get_vector_width() in (64, 128, 256, 512)
    assert not codegen.target_has_features("no-such-feature")
    tag.register_tag("tests/x86", {"kind": "llvm", "mcpu": "x86-64"})
    assert tvm.target.Target("tests/x86").mcpu == "x86-64"
    device = tvm.target.VirtualDevice(tvm.cpu(0), tvm.target.Target("llvm"), "global")
    assert (device.device_type, device.virtual_device_id, device.memory_scope) == (1, 0, "global")
    for name in ("opencl", "vulkan", "metal", "rocm", "vpi", "ext_dev", "webgpu", "hexagon"):
        assert not getattr(tvm, name)().exist


def test_checks_of_scripts_own_tests() -> None:
    """Guards the small words of tvm.testing and tir's kinds of expressions."""
    x = tir.Var("x", "int32")
    tvm.testing.assert_prim_expr_equal(x * 0, tir.const(0, "int32"))
    tvm.testing.check_numerical_grads(lambda a: (a**2).sum(), [np.array([1.0, 2.0])], [np.array([2.0, 4.0])])
    with pytest.raises(AssertionError):
        tvm.testing.check_numerical_grads(lambda a: (a**2).sum(), [np.array([1.0, 2.0])], [np.array([2.0, 5.0])])
    assert tvm.testing.get_dtype_range("int8") == (-128, 127)
    assert [tvm.testing.strtobool(word) for word in ("yes", "off")] == [1, 0]
    assert isinstance(tir.const(1), tir.expr.ConstExpr)
    assert not isinstance(x, tir.expr.ConstExpr)
    changed = tir.stmt_functor.ir_transform(tir.Evaluate(x), None, lambda node: tir.Evaluate(1), ["tir.Evaluate"])
    assert changed.value.value == 1
    assert [int(d) for d in tir.bijective_layout("NCHW", "NCHW4c").backward_shape([1, 2, 3, 4, 4])] == [1, 8, 3, 4]


@pytest.mark.skipif(cc.get_cc() is None, reason="there is no compiler of C")
def test_programs_and_archives_of_c(tmp_path: Path) -> None:
    """Guards create_executable and create_staticlib."""
    source, program, archive = tmp_path / "a.c", tmp_path / "a", tmp_path / "a.a"
    source.write_text("int main() { return 7; }")
    cc.create_executable(str(program), [str(source)])
    assert subprocess.run([program], check=False).returncode == 7
    cc.create_executable(str(tmp_path / "a.o"), [str(source)], options=["-c"])
    cc.create_staticlib(str(archive), [str(tmp_path / "a.o")])
    assert archive.read_bytes().startswith(b"!<arch>")
