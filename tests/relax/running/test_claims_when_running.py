"""What a program says of values and the machine cannot know beforehand is looked at when it runs, the same everywhere:
results of functions, of operators whose operands were little known, and conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.values.packed_func import PROCESS_FUNCTIONS
from baton._src.values.tensor import NDArray, array
from tests.relax.machines import MODES, everywhere, f32, fails_everywhere, machine, table

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


@pytest.mark.rule("RELAX-SINFO-08")
def test_what_a_derive_func_says_is_a_claim() -> None:
    """The machines handed on what it gave; kernels that read it trust its shape."""
    PROCESS_FUNCTIONS.register("test.two", lambda call, context: call.args[0].struct_info, override=True)
    program = """
@R.function(pure=False)
def main(f: R.Callable(derive_func="test.two"), x: R.Tensor((2,), "float32")):
    return f(x)
"""
    fails_everywhere(program, lambda x: NDArray(x.numpy()[:1].copy()), array(f32(1, 2)), code="value-mismatch")
    kept = everywhere(program, lambda x: array(x.numpy() * np.float32(2)), array(f32(1, 2)))
    np.testing.assert_array_equal(kept.numpy(), [2, 4])


@pytest.mark.rule("RELAX-OP-09")
@pytest.mark.parametrize("said", ["R.Tensor((3,), 'float32')", "R.Tuple(R.Tensor((2,), 'float32'))"])
def test_what_is_said_of_a_closure_made_here_is_a_claim(said: str) -> None:
    """Compiled as a whole, the function called the kernel inside, and read beyond what that gave."""
    program = f"""
@R.function(private=True)
def inner(a: R.Tensor((2,), "float32"), b: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    return R.subtract(a, b)

@R.function
def main(x: R.Tensor((2,), "float32")):
    closure = R.make_closure(cls.inner, (x,))
    return R.invoke_pure_closure(closure, (x,), sinfo_args={said})
"""
    fails_everywhere(program, array(f32(1, 2)), code="value-mismatch")
    right = program.replace(said, "R.Tensor((2,), 'float32')")
    np.testing.assert_array_equal(everywhere(right, array(f32(1, 2))).numpy(), [0, 0])


@pytest.mark.rule("RELAX-SIG-9")
@pytest.mark.rule("RELAX-RTSI-4")
@pytest.mark.parametrize(("captured", "says"), [("y", "f takes 1 argument"), ("R.prim_value(5)", "")])
def test_a_closure_is_called_with_as_many_arguments_as_its_function_takes(captured: str, says: str) -> None:
    """Compiled, one more was taken for the value of a shape variable: a number ran, a tensor broke struct.pack.

    The interpreter refuses the number when it is captured, as it is no tensor. What is captured does not count: the
    caller does not see it.
    """
    program = f"""
@R.function
def f(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
    return R.subtract(x, y)

@R.function
def main(y: R.Tensor((3,), "float32")) -> R.Object:
    partial = R.make_closure(cls.f, ({captured},))
    return R.invoke_pure_closure(partial, (y, y), sinfo_args=R.Tensor((3,), "float32"))
"""
    fails_everywhere(program, f32(1, 2, 3), says=says)


@pytest.mark.rule("RELAX-OP-09")
@pytest.mark.parametrize("mode", MODES)
def test_a_partial_function_is_called_from_outside_with_arrays(mode: str) -> None:
    """The interpreter took them as they are, which are no tensors."""
    program = """
@R.function
def f(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    return R.subtract(x, y)

@R.function
def main(y: R.Tensor(("n",), "float32")) -> R.Object:
    return R.make_closure(cls.f, (y,))
"""
    partial = machine(program, mode)["main"](f32(1, 2))
    np.testing.assert_array_equal(partial(f32(5, 5)).numpy(), [4, 3])


def test_claims_of_results_that_nothing_reads_are_not_checked() -> None:
    """TVM's programs say of functions that write to their arguments that they return tensors; a branch is no reader."""
    written = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")) -> R.Object:
    z = R.call_packed("test.write", x, y, sinfo_args=R.Tensor((2,), "float32"))
    if c:
        w = R.call_packed("test.write", y, x, sinfo_args=R.Tensor(ndim=1))
        r = y
    else:
        r = x
    return r
"""
    functions = table(write=lambda a, b: b.data.__setitem__(..., a.data))
    x, y, flag = f32(1, 2), f32(3, 4), np.array(True)
    assert everywhere(written, x, y, flag, functions=functions).numpy().tolist() == [1, 2]
    read = written.replace("r = y", "r = R.add(y, w)").replace("ndim=1", '(2,), "float32"')
    fails_everywhere(read, x, y, flag, functions=functions, says="tensor")
