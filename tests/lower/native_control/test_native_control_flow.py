"""Functions with control flow as one kernel compute what the interpreter does; the rest stays with the machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from baton._src.driver.relax.build import relax_build
from baton._src.relax.interpreter import Interpreter
from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.packed_func import FunctionTable
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray, array
from tests.at_length import at_length
from tests.relax.build import load

HEAD = "from baton.script import ir as I, relax as R, tir as T\n@I.ir_module\nclass M:\n"


def module(*functions: str) -> Any:
    """A module of functions written as TVMScript, each in one string."""
    lines = [f"    {line}" for text in functions for line in (decorator(text), *text.strip("\n").splitlines())]
    return load(HEAD + "\n".join(lines) + "\n")


def decorator(text: str) -> str:
    return "@R.function(pure=False)" if "call_packed" in text else "@R.function"


def agree(program: Any, *arguments: Any, name: str = "main") -> Executable:
    """Build the program and check what it computes against the interpreter."""
    executable = relax_build(program)
    given_values = [array(a) for a in arguments]
    found = VirtualMachine(executable)[name](*given_values)
    expected = Interpreter(program, {})[name](*given_values)
    for a, b in zip(_leaves(found), _leaves(expected), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    return executable


def _leaves(value: Any) -> list[np.ndarray]:
    if isinstance(value, NDArray):
        return [value.numpy()]
    return [leaf for item in value for leaf in _leaves(item)]


def is_native(executable: Executable, name: str = "main") -> bool:
    return executable.entry(name).kind == "native"


X, Y = np.arange(4, dtype="float32"), np.linspace(-1, 1, 4).astype("float32")
COUNT = """
def main(i: R.Tensor((), "int32"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    if R.less(i, R.const(1, "int32")):
        r = x
    else:
        r = M.main(R.subtract(i, R.const(1, "int32")), R.add(x, R.const(1.0, "float32")))
    return r
"""


CAST = """
def main(c: R.Tensor((), "bool"), x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n",), "float32"):
    n = T.int64()
    if c:
        column = R.match_cast(x, R.Tensor((n, 1), "float32"))
        r = R.squeeze(column, axis=[1])
    else:
        r = R.sum(x, axis=[1])
    return r
"""
REFUSAL = """
def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    if c:
        r = R.call_pure_packed("vm.builtin.refuse", R.str("no {way}"), sinfo_args=R.Tensor((4,), "float32"))
    else:
        r = R.add(x, x)
    return R.multiply(r, r)
"""


def test_a_cast_in_an_arm() -> None:
    """Guards that sizes are compared where the cast stands: only in the arm that is taken."""
    executable = agree(module(CAST), np.array(True), X.reshape(4, 1))
    assert is_native(executable)
    main = VirtualMachine(executable)["main"]
    found = main(array(np.array(False)), array(X.reshape(2, 2)))
    np.testing.assert_array_equal(found.numpy(), X.reshape(2, 2).sum(1))
    with pytest.raises(DiagnosticError, match=r"match_cast to column: dimension 1 is 2 = m, expected .*1"):
        main(array(np.array(True)), array(X.reshape(2, 2)))


def test_an_arm_that_refuses() -> None:
    """Guards that an arm which could not be compiled leaves the function with its error, and the other one native."""
    executable = agree(module(REFUSAL), np.array(False), X)
    assert is_native(executable)
    main = VirtualMachine(executable)["main"]
    for _ in range(2):
        with pytest.raises(DiagnosticError, match=r"this part of the model cannot be run: no \{way\}"):
            main(array(np.array(True)), array(X))
    np.testing.assert_array_equal(main(array(np.array(False)), array(X)).numpy(), 4 * X * X)


@pytest.mark.parametrize("rounds", [0, 1, 2, 7])
def test_loop(rounds: int) -> None:
    """Guards the double buffers over even and odd numbers of rounds."""
    assert is_native(agree(module(COUNT), np.int32(rounds), X))


def test_a_million_rounds_need_no_machine() -> None:
    """Guards that loops run inside one native call: in the machine this would take minutes."""
    executable = relax_build(module(COUNT))
    found = VirtualMachine(executable)["main"](array(np.int32(1_000_000)), array(X))
    np.testing.assert_array_equal(found.numpy(), X + 1_000_000)


def test_an_arm_whose_tensors_would_have_negative_sizes() -> None:
    """Guards the memory of the other arm, which began before the workspace, or ended behind it: the process ended."""
    text = """
def main(i: R.Tensor((), "int32"), c: R.Tensor((), "bool"), x: R.Tensor((1, 1, "n"), "float32"), z: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
    if R.less(i, R.const(1, "int32")):
        r = z
    else:
        if c:
            p = R.nn.max_pool1d(x, pool_size=[1000])
            q = R.cumsum(R.cumsum(p, axis=2), axis=2)
            s = R.sum(R.add(q, p))
        else:
            s = R.sum(R.cumsum(x, axis=2))
        r = M.main(R.subtract(i, R.const(1, "int32")), c, x, R.add(z, s))
    return r
"""  # noqa: E501
    for size in (3, 600, 1100):
        x = np.ones((1, 1, size), "float32")
        assert is_native(agree(module(text), np.int32(2), np.array(size > 1000), x, np.float32(0)))


def test_an_arm_that_is_taken_whose_tensors_have_negative_sizes() -> None:
    """Guards that kernels run on sizes only: the scan went on behind its row and returned what it found there."""
    text = """
def main(c: R.Tensor((), "bool"), x: R.Tensor((3, "m"), "float32")) -> R.Tensor((), "float32"):
    m = T.int64()
    if c:
        r = R.sum(R.cumsum(R.exp(R.full((3, m - 5), R.const(2.0), "float32")), axis=1))
    else:
        r = R.sum(x)
    return r
"""
    executable = agree(module(text), np.array(True), np.ones((3, 7), "float32"))
    assert is_native(executable)
    main = VirtualMachine(executable)["main"]
    assert main(array(np.array(False)), array(np.ones((3, 4), "float32"))).numpy() == 12
    with pytest.raises(DiagnosticError, match="a dimension of result 0 is -1"):
        main(array(np.array(True)), array(np.ones((3, 4), "float32")))


def test_parameters_change_places() -> None:
    """Guards that a tail call's arguments are all read before any parameter changes."""
    text = """
def main(i: R.Tensor((), "int32"), a: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32"), k: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
    if R.less(i, R.const(1, "int32")):
        r = (a, b)
    else:
        r = M.main(R.subtract(i, R.const(1, "int32")), b, R.add(a, k), k)
    return r
"""  # noqa: E501
    assert is_native(agree(module(text), np.int32(3), X, Y, X))


def test_value_of_a_branch_is_used_later() -> None:
    """Guards values that two arms leave in one place, one of them a parameter or a constant."""
    text = """
def main(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    if c:
        y = R.exp(x)
        p = (y, R.const([1.0, 2.0], "float32"))
    else:
        p = (x, R.const([3.0, 4.0], "float32"))
    q = R.multiply(p[0], R.sum(p[1]))
    if R.less(R.sum(q), R.const(0.0, "float32")):
        r = R.negative(q)
    else:
        r = q
    return r
"""
    for condition in (True, False):
        for x in (X[:2] + 1, X[:2] - 5):
            assert is_native(agree(module(text), np.bool_(condition), x))


def test_loops_inside_loops() -> None:
    """Guards calls of functions that are kernels by now, their dims in terms of the caller's."""
    inner = """
def inner(i: R.Tensor((), "int32"), x: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
    if R.less(i, R.const(1, "int32")):
        r = x
    else:
        r = M.inner(R.subtract(i, R.const(1, "int32")), R.multiply(x, R.const(0.5, "float32")))
    return r
"""
    outer = """
def main(i: R.Tensor((), "int32"), x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    if R.less(i, R.const(1, "int32")):
        r = x
    else:
        less = M.inner(i, R.reshape(x, (6,)))
        r = M.main(R.subtract(i, R.const(1, "int32")), R.add(R.reshape(less, (2, 3)), x))
    return r
"""
    executable = agree(module(inner, outer), np.int32(3), np.ones((2, 3), "float32"))
    assert is_native(executable)
    assert is_native(executable, "inner")


SIZED = """
def loop(i: R.Tensor((), "int32"), p: R.Tuple(R.Shape(["k"]), R.Tensor(("k + n",), "float32")), s: R.Shape(["n"])) -> R.Tensor(("k + n",), "float32"):
    k = T.int64()
    n = T.int64()
    x = p[1]
    if R.less(i, R.const(1, "int32")):
        r = x
    else:
        y = R.concat((R.strided_slice(x, [0], [n], [n + k]), R.strided_slice(x, [0], [0], [n])), axis=0)
        r = M.loop(R.subtract(i, R.const(1, "int32")), (R.shape([SECOND]), y), R.shape([FIRST]))
    return r
"""  # noqa: E501
SIZED_MAIN = """
def main(i: R.Tensor((), "int32"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    n = T.int64()
    r = M.loop(i, (R.shape([n - 1]), x), R.shape([1]))
    return R.add(r, R.const(1.0, "float32"))
"""


def test_shapes_as_parameters() -> None:
    """Guards that a kernel takes the sizes that only shapes tell: such loops were the machine's."""
    program = module(SIZED.replace("FIRST", "n").replace("SECOND", "k"), SIZED_MAIN)
    executable = agree(program, np.int32(3), np.arange(5, dtype="float32"))
    assert is_native(executable)
    with pytest.raises(DiagnosticError, match=r"argument p\[1\]: dimension 0 is 4, expected 5 \(k \+ n"):
        VirtualMachine(executable)["loop"](array(np.int32(1)), (ShapeTuple([2]), array(X)), ShapeTuple([3]))


def test_shapes_that_change_from_round_to_round() -> None:
    """Guards that a loop whose sizes change places is not taken for one whose tensors keep their memory's size."""
    program = module(SIZED.replace("FIRST", "k").replace("SECOND", "n"), SIZED_MAIN)
    assert not is_native(agree(program, np.int32(3), np.arange(5, dtype="float32")))


def test_a_call_that_is_not_the_last_thing_stays_with_the_machine() -> None:
    """Guards recursion that is no loop."""
    text = COUNT.replace("    return r", "    s = R.add(r, r)\n    return s")
    assert not is_native(agree(module(text), np.int32(3), X))


def test_programs_that_write_into_tensors_stay_with_the_machine() -> None:
    """Guards aliasing: a parameter that comes back is the very tensor where somebody could tell."""
    loop = COUNT.replace("def main", "def loop").replace("M.main", "M.loop")
    user = """
def main(i: R.Tensor((), "int32"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    y = M.loop(i, x)
    _ = R.call_packed("overwrite", x, sinfo_args=R.Tuple())
    return y
"""
    program = module(loop, user)
    executable = relax_build(program)
    assert not is_native(executable, "loop")

    def overwrite(x: NDArray) -> tuple[()]:
        x.data[:] = 5
        return ()

    functions = FunctionTable()
    functions.register("overwrite", overwrite)
    found = VirtualMachine(executable, functions=functions)["main"](array(np.int32(0)), array(X.copy()))
    np.testing.assert_array_equal(found.numpy(), np.full(4, 5, "float32"))


# ------------------------------------------------------------------------------------------ random loops


@st.composite
def loops(draw: st.DrawFn) -> str:
    """A tail-recursive function over a counter and up to three tensors, with random arms."""
    params = ["a", "b", "c"][: draw(st.integers(1, 3))]
    values = list(params)
    names = iter(f"v{i}" for i in range(100))

    def statements(known: list[str], most: int, indent: str) -> list[str]:
        lines = []
        for _ in range(draw(st.integers(0, most))):
            name, kind = next(names), draw(st.integers(0, 4))
            u, v = draw(st.sampled_from(known)), draw(st.sampled_from(known))
            if kind == 0 and most > 1:
                lines.append(f"{indent}if R.less(R.sum({u}), R.const({draw(st.integers(-2, 2))}.0, 'float32')):")
                for arm in ("then", "else"):
                    inner = list(known)
                    lines += statements(inner, most - 1, indent + "    ")
                    lines.append(f"{indent}    {name} = {draw(st.sampled_from(inner))}")
                    if arm == "then":
                        lines.append(f"{indent}else:")
            else:
                op = ["R.add({}, {})", "R.maximum({}, {})", "R.subtract({}, {})", "R.minimum({1}, {0})"][kind % 4]
                lines.append(f"{indent}{name} = R.multiply({op.format(u, v)}, R.const(0.5, 'float32'))")
            known.append(name)
        return lines

    before = statements(values, 2, "    ")
    leaving, staying = list(values), list(values)
    out, again = statements(leaving, 2, "        "), statements(staying, 3, "        ")
    result = ", ".join(draw(st.sampled_from(leaving)) for _ in params)
    args = ", ".join(draw(st.sampled_from(staying)) for _ in params)
    tensor = 'R.Tensor(("n",), "float32")'
    head = ", ".join(["i: R.Tensor((), 'int32')", *(f"{p}: {tensor}" for p in params)])
    return "\n".join(
        [
            f"def main({head}) -> R.Tuple({', '.join([tensor] * len(params))}):",
            *before,
            "    if R.less(i, R.const(1, 'int32')):",
            *out,
            f"        r = ({result},)",
            "    else:",
            *again,
            "        j = R.subtract(i, R.const(1, 'int32'))",
            f"        r = M.main(j, {args})",
            "    return r",
        ]
    )


def check_random_loop(text: str, rounds: int, size: int) -> None:
    note(text)
    rng = np.random.default_rng(size)
    tensors = [rng.uniform(-2, 2, size).astype("float32") for _ in range(text.splitlines()[0].count(': R.Tensor(("n"'))]
    assert is_native(agree(module(text), np.int32(rounds), *tensors))


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(loops(), st.integers(0, 5), st.integers(1, 9))
def test_random_loops(text: str, rounds: int, size: int) -> None:
    """Guards the places of values, whatever crosses from arm to arm and from round to round."""
    check_random_loop(text, rounds, size)


@pytest.mark.fuzz
@settings(max_examples=at_length(3000), suppress_health_check=list(HealthCheck))
@given(loops(), st.integers(0, 5), st.integers(1, 9))
def test_more_random_loops(text: str, rounds: int, size: int) -> None:
    check_random_loop(text, rounds, size)
