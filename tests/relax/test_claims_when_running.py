"""What a program says of values and the machine cannot know beforehand is looked at when it runs, the same everywhere:
results of functions, of operators whose operands were little known, and conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.values.tensor import NDArray, array
from tests.relax.machines import everywhere, f32, fails_everywhere, table

CHOSEN = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), flag: R.Tensor((), "bool")) -> R.Object:
    half, first = R.ExternFunc("test.half"), R.ExternFunc("test.first")
    if flag:
        chosen = half
    else:
        chosen = first
    pair = (chosen, (half, x))
    kept = pair[1][0]
    return (chosen(x), kept(x))
"""
CLAIMS = {
    "a packed function": 'y = R.call_packed("test.first", x, sinfo_args=R.Tensor((2,), "float32"))',
    "a pure one": 'y = R.call_pure_packed("test.first", x, sinfo_args=R.Tensor((2,), "float32"))',
    "one held by a variable": (
        'f = R.ExternFunc("test.first"); y = R.call_packed(f, x, sinfo_args=R.Tensor((2,), "float32"))'
    ),
}
CONDITION = """
@R.function
def main(x: R.Tensor((1,), "float32"), c: R.Tensor) -> R.Tensor((1,), "float32"):
    if c:
        y = R.add(x, x)
    else:
        y = x
    return y
"""
CAPTURED = """
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("k",), "float32")) -> R.Tensor(ndim=1):
    n, k = T.int64(), T.int64()
    @R.function
    def longer(a: R.Tensor(("p",), "float32")) -> R.Tensor(("p + n",), "float32"):
        p = T.int64()
        return R.concat((a, R.zeros(R.shape([n]), "float32")), axis=0)
    return longer(longer(y))
"""
FEWER = """
@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor((), "float32"):
    return R.sum(R.topk(x, k=3, ret_type="values"))
"""


def _functions() -> Any:
    return table(half=lambda x: array(x.numpy() * np.float32(0.5)), first=lambda x: NDArray(x.numpy()[:1].copy()))


@pytest.mark.rule("RELAX-GRAMMAR-29")
@pytest.mark.rule("RELAX-EXPR-04")
@pytest.mark.parametrize(("flag", "first"), [(True, [1.0, 2.0]), (False, [2.0])])
def test_packed_functions_are_values(flag: bool, first: list[float]) -> None:
    """Guards lowering of names of packed functions that are chosen or kept: it broke off."""
    found = everywhere(CHOSEN, f32(2, 4), np.bool_(flag), functions=_functions())
    assert [v.numpy().tolist() for v in found] == [first, [1.0, 2.0]]


@pytest.mark.parametrize("call", CLAIMS.values(), ids=CLAIMS)
def test_what_a_call_says_of_its_result_is_checked(call: str) -> None:
    """Guards kernels, which rely on it; only calls of packed functions by name were checked, and none interpreted."""
    body = "".join(f"\n    {statement}" for statement in call.split("; "))
    program = f'@R.function(pure=False)\ndef main(x: R.Tensor(("n",), "float32")) -> R.Object:{body}\n    return y'
    assert everywhere(program.replace("test.first", "test.half"), f32(2, 4), functions=_functions()).shape == (2,)
    fails_everywhere(program, f32(2, 4), functions=_functions(), code="value-mismatch", says="is 1, expected 2")


@pytest.mark.rule("RELAX-EXPR-06", rejects=True)
@pytest.mark.parametrize("condition", [np.int32(1), np.float32(0), np.array([True])])
def test_conditions_are_boolean_scalars_also_where_only_the_run_shows_it(condition: Any) -> None:
    """Guards numbers as conditions: the machine took them for truth values."""
    assert everywhere(CONDITION, f32(2), np.bool_(True)).numpy().tolist() == [4]
    fails_everywhere(CONDITION, f32(2), condition, code="value-mismatch", says="expected a boolean scalar")


@pytest.mark.rule("RELAX-DIM-6")
def test_results_of_inner_functions_name_variables_of_the_outer_one() -> None:
    """Guards strings in return annotations: they brought in a new variable of the same name."""
    assert everywhere(CAPTURED, f32(1, 2), f32(5)).numpy().tolist() == [5, 0, 0, 0, 0]


@pytest.mark.rule("RELAX-OPSHAPE-15")
def test_an_operator_gives_what_its_rule_said() -> None:
    """Guards the interpreter: it added up the two elements there were, where the type says three."""
    assert everywhere(FEWER, f32(4, 1, 2, 3)).numpy() == 9
    fails_everywhere(FEWER, f32(4, 1), code="value-mismatch")
