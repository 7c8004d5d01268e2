"""How scripts read nodes and make changed ones: numbers of attributes, `_checked_type_`, `make_node`, literals."""

from __future__ import annotations

import numpy as np
import pytest

import baton as tvm
from baton import relax, relay
from baton._src.support.diagnostics import DiagnosticError
from baton.relay.expr_functor import Call, ExprMutator, Function, Op
from baton.script import ir as I
from baton.script import relax as R


def convolution() -> relay.Call:
    weight = relay.var("w", shape=(4, 3, 3, 3))
    return relay.nn.conv2d(relay.var("x", shape=(1, 3, 8, 8)), weight, padding=(1, 2), channels=4, kernel_size=(3, 3))


def test_integers_of_attributes_have_values() -> None:
    """Guards `attrs.strides[0].value`: in TVM these are expressions, and scripts read both ways."""
    attrs = convolution().attrs
    assert [p.value for p in attrs.padding] == [1, 2, 1, 2] == list(attrs.padding)
    assert attrs.channels.value == 4 == attrs["channels"]
    assert str(attrs.channels) == "4"
    assert type(attrs.channels.value) is int
    assert type(attrs.with_attrs(channels=8).channels.value) is int
    assert relax.op.concat([relax.const([1.0])] * 2, axis=0).attrs.axis.value == 0
    assert attrs == convolution().attrs
    assert hash(attrs) == hash(convolution().attrs)
    pads = relay.nn.pad(relay.var("x", shape=(2, 2)), ((0, 1), (2, 3))).attrs.pad_width
    assert [[side.value for side in pair] for pair in pads] == [[0, 1], [2, 3]]
    assert relay.sum(relay.var("x", shape=(2,)), keepdims=True).attrs.keepdims is True


def test_whether_a_type_is_known() -> None:
    """Guards `expr._checked_type_`, by which scripts ask without an error."""
    call = convolution()
    assert call._checked_type_ is None
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(call))["main"].body
    assert typed._checked_type_ == typed.checked_type
    info = relax.Var("x", R.Tensor((2,), "float32"))
    assert info._checked_type_ == info.checked_type


@pytest.mark.parametrize("prefix", ["", "relay.attrs."])
def test_attributes_are_copied_by_the_name_of_their_class(prefix: str) -> None:
    """Guards `make_node(str(attrs).split("(")[0], **changed)`, as passes write to change one attribute."""
    old = relay.sum(relay.var("x", shape=(2, 3)), axis=1).attrs
    changed = {**dict(old.items()), "keepdims": True}
    made = tvm.ir.make_node(prefix + str(old).split("(")[0], **changed)
    assert type(made) is type(old)
    assert (made.keepdims, made.axis) == (True, old.axis)
    with pytest.raises(DiagnosticError, match="there is no class of nodes"):
        tvm.ir.make_node("relay.attrs.NoSuchAttrs")


def test_nodes_beside_the_visitors() -> None:
    """Guards `from tvm.relay.expr_functor import ExprMutator, Call`."""

    class Doubled(ExprMutator):
        def visit_call(self, call: relay.Call) -> relay.Call:
            return Call(call.op, [self.visit(arg) for arg in call.args] * 2)

    x = relay.var("x", shape=(2,))
    doubled = Doubled().visit(Function([x], relay.Call(Op.get("add"), [x])))
    assert len(doubled.body.args) == 2


def test_literals_described_by_a_struct_info() -> None:
    """Guards the course's `relax.const(parameter, relax.TensorStructInfo(shape, "float32"))`."""
    found = relax.const(np.ones((2, 3)), relax.TensorStructInfo((2, 3), "float16"))
    assert found.data.dtype == "float16"
    assert relax.const([1, 2], relax.TensorStructInfo(dtype="int64", ndim=1)).data.dtype == "int64"
    for wrong in (relax.TensorStructInfo((3, 2), "float32"), relax.TensorStructInfo(ndim=1, dtype="float32")):
        with pytest.raises(DiagnosticError, match=r"a literal of shape \(2, 3\) is no"):
            relax.const(np.ones((2, 3)), wrong)


def test_building_by_the_older_name() -> None:
    """Guards `relax.vm.build`, in courses and scripts written before `relax.build`."""

    @I.ir_module
    class Doubling:
        @R.function
        def main(x: R.Tensor((2,), "float32")):
            return R.add(x, x)

    machine = relax.VirtualMachine(relax.vm.build(Doubling, target="llvm"), tvm.cpu())
    assert machine["main"](tvm.nd.array(np.ones(2, "float32"))).numpy().tolist() == [2.0, 2.0]


def test_a_visit_of_relax_sees_expressions_only() -> None:
    """Scripts ask each for its struct_info: bindings, blocks and dims, which have none, came along."""
    x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(relax.op.exp(x))
        builder.emit_func_output(out)
    seen: list[object] = []
    relax.analysis.post_order_visit(builder.get()["main"], seen.append)
    assert all(isinstance(n, relax.Expr | tvm.ir.Op) for n in seen), seen
    assert sum(isinstance(n, relax.Call) for n in seen) == 1
