"""Purity and effects: what counts as one, where it may stand, and what passes keep of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import relax
from baton._src.passes.pipelines import default, zero
from baton._src.relax.nodes import (
    Call,
    DataflowBlock,
    Function,
    SeqExpr,
    Var,
    VarBinding,
)
from baton._src.relax.special_op import SpecialOp
from baton._src.transform.passes import Sequential
from tests.relax.build import RELAX, Ts, codes, load, module, refused
from tests.relax.machines import MODES, everywhere, f32, machine, table

add, exp = RELAX["add"], RELAX["exp"]
PASSES = relax.transform


@pytest.mark.rule("RELAX-PURE-01")
@pytest.mark.rule("RELAX-PURE-02")
@pytest.mark.rule("RELAX-OPSHAPE-17")
def test_operators_say_whether_they_are_pure() -> None:
    for call in (add(Var("x", Ts()), Var("x", Ts())), RELAX["exp"](Var("x", Ts()))):
        assert call.op.definition.pure is True
    body = """
@R.function
def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    with R.dataflow():
        a = R.add(x, x)
        b = R.exp(a)
        R.output(b)
    return b
"""
    np.testing.assert_allclose(everywhere(body, f32(0, 1)).numpy(), np.exp([0, 2]), rtol=1e-5)


def _same_as_first(call: Any, context: Any) -> Any:
    return call.args[0].struct_info


@pytest.mark.rule("RELAX-PURE-04")
@pytest.mark.rule("RELAX-PURE-04", rejects=True)
@pytest.mark.rule("RELAX-OPSHAPE-17", rejects=True)
def test_purity_is_registered_by_hand() -> None:
    """One that only raises may be pure, and then stands in a dataflow block; without purity there is no operator."""
    check = SpecialOp("check_nonneg", infer=_same_as_first, pure=True, arity=(1, 1))
    effect = SpecialOp("write_log", infer=_same_as_first, pure=False, arity=(1, 1))

    def in_dataflow(op: SpecialOp) -> Function:
        x, v = Var("x", Ts((3,), "float32")), Var("v")
        return Function([x], SeqExpr([DataflowBlock([VarBinding(v, Call(op.op, [x]))])], v))

    assert codes(in_dataflow(check)) == []
    assert "relax-purity" in codes(in_dataflow(effect))
    with pytest.raises(TypeError, match="pure"):
        SpecialOp("no_purity", infer=_same_as_first)


@pytest.mark.rule("RELAX-PURE-12")
@pytest.mark.rule("RELAX-PURE-12", rejects=True)
@pytest.mark.parametrize(
    "statement",
    [
        "R.print(x, format='{}')",
        "R.assert_op(c)",
        '_ = R.invoke_closure(f, (x,), sinfo_args=R.Tensor((2,), "float32"))',
        '_ = R.call_builtin_with_ctx("vm.builtin.x", (x,))',
        "_ = R.memory.kill_tensor(x)",
        "_ = R.vm.kill_object(x)",
        "_ = R.vm.call_tir_dyn(k, (x, R.shape([2])))",
    ],
)
def test_impure_operators(statement: str) -> None:
    """Allowed where a function says it has effects; refused in pure functions and in dataflow blocks."""
    head = 'x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool"), f: R.Object, k: R.Object'
    impure = f"@R.function(pure=False)\ndef main({head}) -> R.Object:\n    {statement}\n    return x\n"
    assert load(impure).is_pure is False
    assert refused(impure.replace("(pure=False)", "")).code == "relax-purity"
    block = f"    with R.dataflow():\n        {statement}\n        y = x\n        R.output(y)\n    return y\n"
    assert refused(f"@R.function(pure=False)\ndef main({head}) -> R.Object:\n{block}").code == "relax-purity"


@pytest.mark.rule("RELAX-PURE-05")
@pytest.mark.rule("RELAX-PURE-05", rejects=True)
@pytest.mark.rule("RELAX-PURE-06")
@pytest.mark.rule("RELAX-PURE-07")
def test_dead_casts_and_dead_pure_calls_go() -> None:
    """A cast that binds a shape variable in use stays; a pure call may go even if it fails or never ends."""
    text = """
@R.function(private=True)
def forever(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    y = cls.forever(x)
    return y

@R.function
def main(x: R.Tensor(ndim=1, dtype="float32"), y: R.Tensor((2,), "float32")) -> R.Object:
    m = T.int64()
    with R.dataflow():
        cast = R.match_cast(x, R.Tensor((m,), "float32"))
        endless = cls.forever(y)
        s = R.shape([m])
        R.output(s)
    return s
"""
    found = PASSES.DeadCodeElimination()(module(text))
    kept = [b for block in found["main"].body.blocks for b in block.bindings]
    assert [type(b).__name__ for b in kept] == ["MatchCast", "VarBinding"]
    assert codes(found) == []
    assert everywhere(found, f32(1, 2, 3), f32(1, 2)) == (3,)


@pytest.mark.rule("RELAX-PURE-07", rejects=True)
def test_nothing_that_may_fail_leaves_an_untaken_branch() -> None:
    """The program that does not fail does not fail after any pass."""
    text = """
@R.function
def main(x: R.Tensor(ndim=1, dtype="float32"), c: R.Tensor((), "bool")) -> R.Object:
    if c:
        y = R.match_cast(x, R.Tensor((7,), "float32"))
        z = R.call_pure_packed("test.fail", y, sinfo_args=R.Tensor((7,), "float32"))
    else:
        z = R.add(x, x)
    return z
"""
    program = module(text)
    for passes in (default(), zero()):
        done = Sequential(passes)(program)
        assert everywhere(done, f32(1, 2), np.bool_(False), functions=table()).numpy().tolist() == [2, 4]


@pytest.mark.rule("RELAX-SEM-10")
@pytest.mark.rule("RELAX-SEM-10", rejects=True)
def test_effects_keep_their_order_and_number(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints are neither merged, nor dropped, nor exchanged, by any pass."""
    text = """
@R.function(pure=False)
def main(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
    R.print(R.str("first"))
    R.print(R.str("first"))
    y = R.add(x, x)
    R.print(R.str("last"))
    return y
"""
    program = module(text)
    names = ["CanonicalizeBindings", "EliminateCommonSubexpr", "DeadCodeElimination", "ConvertToDataflow", "FuseOps"]
    names += ["LegalizeOps", "FoldConstant", "LambdaLift", "InlinePrivateFunctions", "ToNonDataflow"]
    for name in names:
        program = getattr(PASSES, name)()(program)
        machine(program, "interpreter")["main"](np.float32(1))
        assert capsys.readouterr().out.split() == ["first", "first", "last"], name
    for mode in MODES:
        machine(program, mode)["main"](np.float32(1))
        assert capsys.readouterr().out.split() == ["first", "first", "last"], mode
