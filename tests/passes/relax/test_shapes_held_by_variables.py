"""Shapes that variables hold (`R.Tensor(s)`): operators name the variable, and passes that rename it follow."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from baton import cpu, relax
from baton._src.driver.relax.build import relax_build
from baton._src.driver.wiring import wire
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.well_formed import well_formed
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.shape import ShapeTuple
from tests.relax.build import load, module

wire()

PASSES = [
    "CanonicalizeBindings",
    "ConvertToDataflow",
    "DeadCodeElimination",
    "EliminateCommonSubexpr",
    "FuseOps",
    "InlinePrivateFunctions",
    "LambdaLift",
    "LegalizeOps",
    "Normalize",
    "RemoveUnusedParameters",
    "ToNonDataflow",
]
PROGRAM = """
@I.ir_module
class M:
    @R.function(private=True)
    def g(y: R.Tensor("float32"), unused: R.Object, q: R.Shape(ndim=2)):
        p = q
        z = R.reshape(y, p)
        z2 = R.reshape(y, q)
        w = (R.add(z, z2), z)
        return w

    @R.function
    def main(x: R.Tensor("float32"), s: R.Shape(ndim=2)):
        t = (x, s)
        s2 = t[1]
        a = R.reshape(x, s2)

        @R.function
        def h(y: R.Tensor("float32")):
            z = R.reshape(y, s)
            w = R.add(z, a)
            return w

        b = h(a)
        c = cls.g(b, x, s2)
        d = R.multiply(c[0], c[1])
        return d
"""


@pytest.mark.rule("RELAX-SINFO-05")
def test_operators_name_the_variable_that_holds_the_shape() -> None:
    """reshape, full, ones, zeros, broadcast_to: the result has the shape `s`, so sums of them do not lose it."""
    s, deep = (relax.Var(n, relax.ShapeStructInfo(ndim=r)) for n, r in (("s", 2), ("deep", 3)))
    x = relax.Var("x", relax.TensorStructInfo(ndim=2))
    local = relax.DataflowVar("l", relax.ShapeStructInfo(ndim=2))
    bb, op, half = relax.BlockBuilder(), relax.op, relax.const(1.5, "float32")

    def found(call: Any) -> Any:
        return bb.normalize(call).struct_info

    here = relax.TensorStructInfo(s, "float32")
    made = [op.reshape(x, s), op.full(s, half, "float32"), op.ones(s, "float32"), op.zeros(s, "float32")]
    for call in (*made, op.broadcast_to(x, s), op.full_like(relax.Var("a", here), half)):
        assert found(call) == here
    assert found(op.exp(relax.Var("a", here))) == found(op.add(relax.Var("a", here), relax.Var("b", here))) == here
    assert found(op.reshape(x, local)) == relax.TensorStructInfo(ndim=2), "a DataflowVar ends with its block"
    with pytest.raises(DiagnosticError, match="has more axes than the target, which has 2"):
        found(op.broadcast_to(relax.Var("x", relax.TensorStructInfo(ndim=3)), s))
    with pytest.raises(DiagnosticError, match="the target, which has 3 axes, has more than"):
        found(op.collapse_sum_to(x, deep))


@pytest.mark.rule("RELAX-PASS-30")
@pytest.mark.parametrize("name", PASSES)
def test_passes_follow_variables_in_annotations(name: str) -> None:
    """What a pass makes is well-formed, reads back, and gives the same values interpreted and compiled."""
    x, s = np.arange(6, dtype="float32"), ShapeTuple([3, 2])
    wanted = Interpreter(load(PROGRAM)).run("main", x, s)
    changed = getattr(relax.transform, name)()(load(PROGRAM))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not well_formed(changed)
        assert not well_formed(load(changed.script(show_meta=True)))
    for found in (
        Interpreter(changed).run("main", x, s),
        VirtualMachine(relax_build(changed), cpu())["main"](x, s),
    ):
        np.testing.assert_allclose(np.asarray(found.numpy()), np.asarray(wanted.numpy()))


def test_what_holds_a_shape_is_no_dataflow_variable() -> None:
    """Guards ConvertToDataflow: its text read back with a warning, for no result is named by a DataflowVar."""
    program = module("""
@R.function
def main(x: R.Tensor("float32")) -> R.Tensor("float32"):
    s = R.shape_of(x)
    z = R.broadcast_to(R.const(1.0), s)
    w = R.add(x, z)
    return w
""")
    changed = relax.transform.ConvertToDataflow()(program)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = load(changed.script())
    assert again.script() == changed.script()
    assert not well_formed(changed)
