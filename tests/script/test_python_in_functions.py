"""What Python decides while a Relax function is read: unpacking, conditions, f-strings, slices, `**`.

TVM's reader hands expressions to Python, so scripts use what Python gives; what only the running program knows is
refused with the way to write it.
"""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.relax.nodes import Function
from baton._src.support.diagnostics import DiagnosticError
from tests.relax.build import ROOTS, load

R, IR = ROOTS["R"], ROOTS["I"]


def operators(found: Function) -> list[str]:
    """The operators that are called, in order."""
    values = [b.value for block in found.body.blocks for b in block.bindings]
    return [v.op.name.removeprefix("relax.") for v in values if hasattr(v, "op")]


def problem(body: str, params: str = 'x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")') -> str:
    """What is said about a function with one wrong statement."""
    with pytest.raises(DiagnosticError) as error:
        load(f"@R.function\ndef main({params}):\n    n = T.int64()\n    {body}\n    return x\n")
    (found,) = error.value.diagnostics
    return f"{found.message} | {found.help}"


@pytest.mark.rule("RELAX-SCRIPT-06")
def test_tuples_unpack_in_depth_and_with_a_rest() -> None:
    """`(a, b), *rest = t` takes what stands there: fields of fields, and what is left as a Python list."""

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        t = ((x, R.add(x, x)), R.negative(x), R.exp(x))
        (a, b), *rest = t
        c = R.multiply(a, b)
        d = R.subtract(rest[0], rest[-1 + 2])
        e = R.add(c, d)
        return e

    assert operators(main) == ["add", "negative", "exp", "multiply", "subtract", "add"]
    assert "t[1]" in main.script()
    assert "t[2]" in main.script()
    assert main.ret_struct_info == R.Tensor((2,), "float32")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("(a, b), d = ((x, x, x), x)", "a tuple of 3 fields is unpacked into 2 names"),
        ("a, b, *d = (x,)", "a tuple of 1 fields is unpacked into at least 2 names"),
        ("(a, b), d = (x, x)", "a value that is not a tuple cannot be unpacked"),
        ("a, (b, a) = (x, (x, x))", "a name occurs twice"),
        ("a = b = x", "one value is assigned to several names"),
    ],
)
@pytest.mark.rule("RELAX-SCRIPT-06", rejects=True)
def test_what_does_not_unpack(body: str, said: str) -> None:
    assert said in problem(body)


def test_python_decides_what_python_knows() -> None:
    """A condition over Python's values chooses while the function is read; `or` gives the value, not its truth."""
    flag, dtype, axes, options, kind = True, None, [0, 1, 2], {"axis": [1], "keepdims": True}, "exp"

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        y = R.add(x, x) if flag and dtype is None else R.negative(x)
        z = R.sum(y, **options)
        w = R.mean(z, axis=axes[0:2])
        u = R.astype(w, dtype or "float16")
        v = R.call_pure_packed(f"tests.{kind}_{2:02d}", u, sinfo_args=R.Tensor((), "float16"))
        q = R.exp(v) if 0 < len(axes) < 4 and kind in ("exp", "log") else v
        return q

    assert operators(main) == ["add", "sum", "mean", "astype", "call_pure_packed", "exp"]
    assert '"tests.exp_02"' in main.script()
    assert main.ret_struct_info == R.Tensor((), "float16")


def test_functions_of_the_module_in_comprehensions() -> None:
    """Guards `cls.f` where Python's own loops call it; it was no attribute there."""

    @IR.ir_module
    class Module:
        @R.function
        def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.add(x, x)

        @R.function
        def main(x: R.Tensor((2,), "float32")):
            cls = Module
            return R.tuple(*[cls.f(x) for _ in range(2)])

    assert Module.script().count("cls.f(x)") == 2


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("y = x if c else R.exp(x)", "an if statement whose branches end by assigning one name"),
        ("y = x if n > 3 else R.exp(x)", "n > T.int64(3) is known only when it runs | write T.if_then_else"),
        ("y = 1 < n < 4", "a chain of comparisons is not defined for tensors and dims | compare two at a time"),
        ("y = x and c", "not defined for tensors | use R.logical_and"),
        ("y = 1 in x", "`in` is not defined for tensors and dims"),
        ("y = x is not x", "it would be decided while the script is read | compare their values, by == or R.equal"),
        ("y = (x, x.shape)", "x.shape is not a Relax expression | R.shape_of(x) is the whole shape"),
        ("y = (x, None)", "None is not a Relax expression"),
        ("y = R.sum(x, **x)", "** spreads arguments by name"),
        ('y = R.sum(x, axis=0, **{"axis": 0})', "argument 'axis' is given twice"),
        ("y = x @ x", "write R.matmul(a, b)"),
        ("y = x[0:2]", "R.strided_slice"),
        ("y = R.sum(x, axis=[a for a in (0,)])", "compute it in Python before the function"),
        ('y = R.call_packed(f"{1:99}", x)', "a format in an f-string is not supported in a script"),
    ],
)
def test_what_python_cannot_decide(body: str, said: str) -> None:
    """Refused with the way to write it."""
    assert said in problem(body)


def test_powers_of_numbers() -> None:
    """A number on the left was an error of Python's, of this operator alone."""
    found: Any = load('@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = 2.0**x\n    return y\n')
    assert 'R.power(R.const(2.0, "float32"), x)' in found.script()


def test_scalars_join_with_pythons_truth() -> None:
    """`True and n > 1` is the scalar; dims are chosen by T.if_then_else."""
    found: Any = load(
        '@R.function\ndef main(x: R.Tensor(("n",), "float32")) -> R.Shape(ndim=1):\n    n = T.int64()\n'
        "    y = R.shape([T.if_then_else(True and n > 1 and n < 9, n, 4)])\n    return y\n"
    )
    assert "T.if_then_else(T.And(n > 1, n < 9), n, 4)" in found.script()


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("'ab'", "a + a"),
        ("'ab'", "a * 1000"),
        ("'ab'", "f'{a}{a}'"),
        ("['ab']", "[*a, *a]"),
        ("'%999999999d'", "a % 3"),
        ("list(range(10 ** 12))", "a"),
        ("[*range(10 ** 12)]", "a"),
    ],
)
def test_texts_have_bounds(first: str, again: str) -> None:
    """What forty lines double, and what one line asks for, would be more than there is memory."""
    lines = [f"a = {first}", *[f"a = {again}"] * 40, "y = R.exp(x)"]
    assert any(words in problem("\n    ".join(lines)) for words in ("too large", "may not create", "is not supported"))
