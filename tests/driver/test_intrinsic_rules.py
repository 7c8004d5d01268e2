"""Rules that scripts register for intrinsics: kernels compute what the rules say, in every way of building them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relay, te, tir
from baton._src.driver.intrinsic_rules import KEYS
from baton._src.ir.filled_columns import FILLED
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.intrinsics import INTRINSICS, OWN_INTRINSICS

X = np.linspace(1, 2, 5).astype("float32")


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """What a test registers is forgotten."""
    before = set(FILLED)
    yield
    for op in INTRINSICS.values():
        for key in KEYS:
            op.reset_attr(key)
    OWN_INTRINSICS.clear()
    FILLED.intersection_update(before)


def computed(function: Callable[[Any], Any]) -> Any:
    a = te.placeholder((5,), name="a")
    out = tvm.nd.empty((5,))
    tvm.build(te.create_prim_func([a, te.compute((5,), lambda i: function(a[i]))]))(tvm.nd.array(X), out)
    return out.numpy()


def test_rules_of_intrinsics_there_are() -> None:
    """Guards against registered rules that nothing reads: in nested calls, and in kernels of Relay programs."""
    tvm.ir.register_op_attr("tir.exp", "llvm.FLowerIntrinsic", lambda op: op.args[0] * 2.0)
    np.testing.assert_allclose(computed(lambda x: te.exp(te.exp(x))), 4 * X)
    v = relay.var("v", shape=(5,))
    module = tvm.IRModule.from_expr(relay.Function([v], relay.exp(v)))
    found = relay.create_executor("graph", module, target="llvm").evaluate()(X)
    np.testing.assert_allclose(found.numpy(), 2 * X)


def test_rules_set_as_attributes_of_operators() -> None:
    """Guards rules that are put into the registry the other way: nothing looked for them."""
    tvm.ir.Op.get("tir.exp").set_attr("llvm.FLowerIntrinsic", lambda op: op.args[0] * 3.0)
    np.testing.assert_allclose(computed(te.exp), 3 * X)


def test_intrinsics_of_a_scripts_own() -> None:
    def mylog(x: Any) -> Any:
        return tir.call_intrin(x.dtype, "tir.mylog", x)

    tvm.ir.register_op_attr("tir.mylog", "TCallEffectKind", tir.CallEffectKind.Pure)
    with pytest.raises(DiagnosticError, match=r"the intrinsic tir.mylog has no lowering rule"):
        computed(mylog)
    rule = lambda op: tir.call_pure_extern("float32", "logf", op.args[0])  # noqa: E731  # as scripts write it
    tvm.ir.register_intrin_lowering("tir.mylog", target="llvm", f=rule, level=99)
    np.testing.assert_allclose(computed(mylog), np.log(X), rtol=1e-6)


def test_rules_apply_to_what_rules_return() -> None:
    """Guards calls inside of a replacement: they had no native code, or were computed as if there were no rule."""
    outer = lambda op: tir.call_intrin("float32", "tir.inner", *op.args) + 1.0  # noqa: E731
    tvm.ir.register_intrin_lowering("tir.outer", "llvm", f=outer)
    tvm.ir.register_intrin_lowering("tir.inner", "llvm", f=lambda op: op.args[0] * 2.0)
    np.testing.assert_allclose(computed(lambda x: tir.call_intrin("float32", "tir.outer", x)), 2 * X + 1)
    tvm.ir.register_intrin_lowering("tir.exp", "llvm", f=lambda op: op + 1.0)
    np.testing.assert_allclose(computed(te.exp), np.exp(X) + 1, rtol=1e-6)


def test_rules_that_do_not_end_and_other_targets() -> None:
    tvm.ir.register_intrin_lowering("tir.sin", "cuda", f=lambda op: op.args[0])
    np.testing.assert_allclose(computed(te.sin), np.sin(X), rtol=1e-6)
    tvm.ir.register_intrin_lowering("tir.sin", "default", f=lambda op: tir.sin(op.args[0] + 1.0))
    with pytest.raises(DiagnosticError, match=r"does not terminate: it returns a call of tir.sin"):
        computed(te.sin)
