"""Programs that random testing has caught a pass or a machine misreading; kept small."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import relax
from baton._src.relax.well_formed import well_formed
from baton.relax.dpl import is_op, wildcard
from tests.relax.build import module
from tests.relax.machines import everywhere, f32, fails_everywhere, table


def increase(x: Any) -> None:
    x.data[...] += 1


HAZARDS = {
    "equal results, one of which is written later": """
    a = R.add(x, x)
    b = R.add(x, x)
    _ = R.call_packed("test.inc", a)
    r = (a, b)
""",
    "equal calls with a change of the operand between them": """
    a = R.add(x, x)
    _ = R.call_packed("test.inc", x)
    b = R.add(x, x)
    r = R.subtract(b, a)
""",
    "a written alias of a result": """
    a = R.add(x, x)
    t = (a, x)
    b = R.add(x, x)
    c = t[0]
    _ = R.call_packed("test.inc", c)
    r = (a, b)
""",
    "a constant that is written": """
    a = R.const([1.0, 2.0], "float32")
    _ = R.call_packed("test.inc", a)
    b = R.add(a, x)
    r = (a, b)
""",
    "a result computed of constants that is written": """
    a = R.add(R.const([1.0, 2.0], "float32"), R.const([1.0, 1.0], "float32"))
    b = R.add(R.const([1.0, 2.0], "float32"), R.const([1.0, 1.0], "float32"))
    _ = R.call_packed("test.inc", a)
    r = (a, b)
""",
    "a result that dropout's parts hand on, written": """
    t = R.nn.dropout(x)
    a = t[0]
    _ = R.call_packed("test.inc", a)
    r = (a, x)
""",
    "data that dropout's parts hand on, written": """
    t = R.nn.dropout(x)
    a = t[0]
    _ = R.call_packed("test.inc", x)
    r = R.multiply(a, x)
""",
    "statistics that batch_norm's parts hand on, written": """
    m = R.add(x, x)
    t = R.nn.batch_norm(R.reshape(x, (1, 2)), x, x, m, x, axis=1)
    a, b = t[1], t[2]
    _ = R.call_packed("test.inc", a)
    _ = R.call_packed("test.inc", b)
    r = (t[0], a, b, m, x)
""",
    "a closure that runs after the change": """
    a = R.add(x, x)
    @R.function
    def f(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        b = R.add(x, x)
        c = R.add(b, y)
        return c
    _ = R.call_packed("test.inc", x)
    d = f(a)
    r = (a, d)
""",
}


@pytest.mark.rule("RELAX-SEM-09")
@pytest.mark.parametrize("name", HAZARDS)
def test_what_effects_may_write_is_left_alone(name: str) -> None:
    """In every machine, and after the passes that merge, fold and inline, one by one."""
    text = f'@R.function(pure=False)\ndef main(x: R.Tensor((2,), "float32")) -> R.Object:{HAZARDS[name]}    return r\n'
    before = module(text)
    expected = everywhere(before, f32(1, 2), functions=table(inc=increase))
    for step in (
        "EliminateCommonSubexpr",
        "FoldConstant",
        "CanonicalizeBindings",
        "InlinePrivateFunctions",
        "LegalizeOps",
        "DecomposeOpsForInference",
    ):
        after = getattr(relax.transform, step)()(before)
        found = everywhere(after, f32(1, 2), functions=table(inc=increase))
        for a, b in zip(_flat(found), _flat(expected), strict=True):
            np.testing.assert_allclose(a, b, err_msg=step)


IN_PLACE = {
    "computed again after the first result was changed in place": """
    a = R.add(x, R.const(0.5, "float32"))
    b = R.call_tir_inplace(cls.halve, (a,), out_sinfo=R.Tensor((2,), "float32"), inplace_indices=[0])
    c = R.add(x, R.const(0.5, "float32"))
    r = (b, R.tanh(c))
""",
    "read before it is changed in place, and used after": """
    with R.dataflow():
        a = R.add(x, R.const(0.5, "float32"))
        c = R.tanh(a)
        b = R.call_tir_inplace(cls.halve, (a,), out_sinfo=R.Tensor((2,), "float32"), inplace_indices=[0])
        d = R.exp(c)
        r = (b, d)
        R.output(r)
""",
    "of which another shape was taken before": """
    with R.dataflow():
        a = R.add(x, R.const(0.5, "float32"))
        v = R.reshape(a, (2, 1))
        b = R.call_tir_inplace(cls.halve, (a,), out_sinfo=R.Tensor((2,), "float32"), inplace_indices=[0])
        w = R.permute_dims(v)
        r = (b, v, w)
        R.output(r)
""",
    "an input changed in place": """
    with R.dataflow():
        v = R.reshape(x, (2, 1))
        c = R.tanh(v)
        b = R.call_tir_inplace(cls.halve, (x,), out_sinfo=R.Tensor((2,), "float32"), inplace_indices=[0])
        r = (b, c, R.exp(c))
        R.output(r)
""",
    "a constant changed in place": """
    a = R.const([1.0, 2.0], "float32")
    b = R.call_tir_inplace(cls.halve, (a,), out_sinfo=R.Tensor((2,), "float32"), inplace_indices=[0])
    r = (b, R.add(R.const([1.0, 2.0], "float32"), x))
""",
}
HALVE = """
@T.prim_func(private=True)
def halve(A: T.Buffer((2,), "float32")):
    for i in range(2):
        with T.block("b"):
            v = T.axis.spatial(2, i)
            A[v] = A[v] * T.float32(0.5)
"""


@pytest.mark.rule("RELAX-SEM-09")
@pytest.mark.parametrize("name", IN_PLACE)
def test_what_is_changed_in_place_is_left_alone(name: str) -> None:
    """The call counts as pure, but what was computed before it does not stand for what is computed after it."""
    before = module(f'{HALVE}\n@R.function\ndef main(x: R.Tensor((2,), "float32")):{IN_PLACE[name]}    return r\n')
    expected = everywhere(before, f32(1, 2))
    passes = relax.transform
    pattern = is_op("relax.exp")(is_op("relax.tanh")(wildcard()))
    for steps in (
        [passes.EliminateCommonSubexpr()],
        [passes.CanonicalizeBindings()],
        [passes.FuseOpsByPattern([("exp_of_tanh", pattern)])],
        [passes.LegalizeOps(), passes.FuseOps(), passes.FuseTIR()],
    ):
        after = before
        for step in steps:
            after = step(after)
        for a, b in zip(_flat(everywhere(after, f32(1, 2))), _flat(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, err_msg=type(steps[0]).__name__)


def _flat(value: Any) -> list[np.ndarray]:
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, tuple) else [value.numpy()]


@pytest.mark.rule("RELAX-WF-7-1")
def test_recursive_calls_stay_out_of_dataflow_blocks() -> None:
    """Of a local function and of mutually recursive global ones; calls from outside may go in."""
    text = """
@R.function
def main(x: R.Tensor((2,), "float32"), i: R.Tensor((), "int64")) -> R.Tensor((2,), "float32"):
    if R.less_equal(i, R.const(0, "int64")):
        r = x
    else:
        j = R.subtract(i, R.const(1, "int64"))
        y = R.add(x, x)
        r = cls.partner(y, j)
    return r

@R.function
def partner(x: R.Tensor((2,), "float32"), i: R.Tensor((), "int64")) -> R.Tensor((2,), "float32"):
    y = R.exp(x)
    z = cls.main(y, i)
    return z
"""
    after = relax.transform.ConvertToDataflow()(module(text))
    assert well_formed(after, normalized=True) == []
    everywhere(after, f32(0, 0.1), np.int64(2))


def test_a_packed_function_that_gives_something_else_is_found_out() -> None:
    """Kernels rely on what a call says of its result."""
    text = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")) -> R.Tensor((4,), "float32"):
    y = R.call_packed("test.same", x, sinfo_args=R.Tensor((4,), "float32"))
    return y
"""
    fails_everywhere(text, f32(1, 2), functions=table(same=lambda x: x), says="expected 4")
