"""save_json of what is no module: parts of programs, with open variables, dtypes and what they share, come back."""

from __future__ import annotations

import numpy as np
import pytest

import baton as tvm
from baton import relax, relay, te, tir
from baton._src.ir.traverse import post_order
from baton.script import tir as T


@T.prim_func
def doubled(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
    for i in range(2):
        b[i] = a[i] * 2.0


X, Y, Z = te.var("x"), tir.Var("y", "float32"), tir.Var("z", "int32")


@pytest.mark.parametrize(
    "expr",
    [
        X + 1,
        tir.const(3, "int64"),
        tir.const(float("nan"), "float32"),
        tir.if_then_else(X > 0, X, -X),
        tir.exp(Y) * 2.0 + tir.Cast("float32", X // 3 % 5),
        tir.Select(tir.any(X < 3, X > 5), Y, Y + 1.0),
        tir.Let(Z, X + 1, Z * Z),
        tir.Ramp(X, 1, 4),
        tir.call_extern("float32", "sinf", Y),
    ],
)
def test_an_expression_comes_back(expr: tir.PrimExpr) -> None:
    found = tvm.ir.load_json(tvm.ir.save_json(expr))
    assert found.dtype == expr.dtype
    tvm.ir.assert_structural_equal(found, expr, map_free_vars=True)


def test_every_part_of_a_kernel_comes_back_by_itself() -> None:
    a = te.placeholder((4, 4), name="a")
    k = te.reduce_axis((0, 4), name="k")
    kernel = te.create_prim_func([a, te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="b")])
    for part in post_order(kernel, notes=True):
        tvm.ir.assert_structural_equal(tvm.ir.load_json(tvm.ir.save_json(part)), part, map_free_vars=True)


def test_parts_of_relax_and_relay_programs_come_back_by_themselves() -> None:
    batch = tir.Var("n", "int64")
    x, y = relax.Var("x", relax.TensorStructInfo((batch, 4), "float32")), relay.var("y", shape=(2, 4))
    nested = relax.op.nn.softmax(relax.op.add(x, relax.op.reshape(x, (-1, 4))), axis=0)
    for part in (x, x.struct_info, nested, relay.nn.softmax(y, axis=0), relay.Function([y], y), relay.TypeVar("t")):
        tvm.ir.assert_structural_equal(tvm.ir.load_json(tvm.ir.save_json(part)), part, map_free_vars=True)
    found = tvm.ir.load_json(tvm.ir.save_json(nested))
    assert (found.op, found.attrs) == (nested.op, nested.attrs)


def test_what_comes_back_is_used_like_what_was_saved() -> None:
    """Guards dtypes, which are texts too: they came back as plain ones, equal and yet unknown to printers."""
    x = relay.var("x", shape=(2,))
    module = tvm.IRModule.from_expr(relay.Function([x], relay.nn.softmax(x)))
    (found, kernel), (again, _) = (tvm.ir.load_json(tvm.ir.save_json([module, doubled])) for _ in range(2))
    assert str(found) == str(again) == str(module)
    result = relay.create_executor("graph", found, tvm.cpu(), "llvm").evaluate()(np.zeros(2, "float32"))
    assert result.numpy().tolist() == [0.5, 0.5]
    out = tvm.nd.empty((2,))
    tvm.build(kernel, target="llvm")(tvm.nd.array(np.ones(2, "float32")), out)
    assert out.numpy().tolist() == [2, 2]
    info = tvm.ir.load_json(tvm.ir.save_json(relax.TensorStructInfo((2,), "int8")))
    assert str(info) == 'R.Tensor((2,), dtype="int8")'


def test_what_values_share_stays_shared() -> None:
    first, second = tvm.ir.load_json(tvm.ir.save_json([X + 1, X * 2]))
    assert first.a.same_as(second.a)
    kind, dtype, entry = tvm.ir.load_json(tvm.ir.save_json([tir.ForKind.PARALLEL, tvm.DataType("int8"), {"x": X}]))
    assert (kind, dtype, entry["x"].name) == (tir.ForKind.PARALLEL, tvm.DataType("int8"), "x")


def test_what_cannot_be_saved_or_read_is_said() -> None:
    with pytest.raises(tvm.error.DiagnosticError, match="a function cannot be saved"):
        tvm.ir.save_json([X, test_what_cannot_be_saved_or_read_is_said])
    entry = '{"format": "baton.ir", "kind": "table", "root": 1, "table": [{"class": "%s", "fields": {}}]}'
    for wrong in ("tir.stmt.Nothing", "support.diagnostics.fail", "ir.attrs.DictAttrs", "tir.nowhere.For"):
        with pytest.raises(tvm.error.DiagnosticError, match="not a program saved"):
            tvm.ir.load_json(entry % wrong)


def relay_main(**attributes: object) -> tvm.IRModule:
    x = relay.var("x", shape=(2,))
    return tvm.IRModule.from_expr(relay.Function([x], relay.add(x, x)).with_attr(attributes))


@pytest.mark.parametrize(
    "module",
    [
        relay_main().with_attr("executor", "graph"),
        relay_main(weights=relay.const([1.0, 2.0]), shape=relay.TensorType((2,)), options={"depth": 1}),
        relay_main(**{"no-word": 1}),
        tvm.IRModule({**relay_main().functions, tvm.ir.GlobalVar("doubled"): doubled}),
    ],
)
def test_modules_of_relay_with_what_its_text_has_no_words_for_come_back(module: tvm.IRModule) -> None:
    """Attributes of modules were lost, others became texts; with a kernel in the module it was not read at all."""
    read = tvm.ir.load_json(tvm.ir.save_json(module))
    tvm.ir.assert_structural_equal(read, module)
    assert dict(read.attrs) == dict(module.attrs)
