"""Mistakes that users make: the code, the token under the caret, and what helps."""

from __future__ import annotations

import pytest

from baton._src.support.diagnostics import DiagnosticError
from tests.relax.build import load

HEAD = "@R.function\ndef main(x: R.Tensor((2, 3), 'float32'), w: R.Tensor((4, 5), 'float32')):\n"
CALLEE = (
    "@I.ir_module\nclass M:\n    @R.function\n    def f(x: R.Tensor((2,), 'float32')):\n        return x\n"
    "    @R.function\n    def main(x: R.Tensor((3,), 'float32')):\n        y = M.f(x)\n        return y\n"
)


def body(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("text", "code", "token", "says"),
    [
        (body("y = R.add(x, v)", "return y"), "script-name", "v", "v = T.int64()"),
        (body("row = R.exp(x)", "y = R.exp(rows)", "return y"), "script-name", "rows", "did you mean row?"),
        (body("return metadata['relax.expr.Constant'][0]"), "script-name", "metadata", "script(show_meta=True)"),
        (body("return R.dist.call_tir(x)"), "script-name", "R.dist", "baton compiles for one CPU"),
        ("@R.function\ndef main(x: R.DTensor):\n    return x\n", "script-name", "R.DTensor", "spread over devices"),
        ("@R.function\ndef f(x: R.Object, x: R.Tensor):\n    return x\n", "script-signature", "x: R.Tensor", "twice"),
        ("@T.prim_func\ndef f(n: T.int32, n: T.int64):\n    T.evaluate(n)\n", "tir-params", "n: T.int64", "twice"),
        (body("y = R.matmull(x, w)", "return y"), "script-name", "R.matmull", "did you mean matmul?"),
        (body("y = R.sum(x, axes=[1])", "return y"), "script-value", "R.sum(x, axes=[1])", "it takes (x, axis=None"),
        (body("y = R.matmul(x, w)", "return y"), "op-shape", "R.matmul(x, w)", "3 against 4, in shapes (2, 3)"),
        (body("y = R.sum(x, axis=[5])", "return y"), "op-axis", "R.sum(x, axis=[5])", "use -2 to 1"),
        (body("x += w", "return x"), "script-syntax", "x += w", "x = R.add(x, y)"),
        (body("while x:", "    y = x", "return x"), "script-syntax", "while x:", "calls itself"),
        (body("if x:", "    y = x", "else:", "    y = x", "return y"), "relax-struct-info", "x", "boolean scalar"),
        (CALLEE, "relax-struct-info", "M.f(x)", "argument 0 of f is R.Tensor((3,)"),
        (CALLEE.replace("M.f(x)", "f(x)"), "script-name", "f", "named through it: cls.f"),
        (
            body("R.func_attr({'a': [R.nn]})", "return x"),
            "script-value",
            "{'a': [R.nn]}",
            "not a value of an attribute",
        ),
        (body("R.func_attr({'a': T.int64})", "return x"), "script-value", "{'a': T.int64}", "'int64' is not a value"),
        (
            "@I.ir_module\nclass M:\n    I.module_attrs({'a': T})\n",
            "script-value",
            "{'a': T}",
            "not a value of an attribute",
        ),
    ],
)
def test_mistakes(text: str, code: str, token: str, says: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        load(text)
    first = error.value.diagnostics[0]
    assert first.code == code
    assert says in str(error.value)
    assert caret(str(error.value)) == token


def caret(rendered: str) -> str:
    """What the first carets stand under."""
    lines = rendered.splitlines()
    at = next(n for n, line in enumerate(lines) if set(line.partition("|")[2].strip()) == {"^"})
    start, end = lines[at].index("^"), lines[at].rindex("^") + 1
    return lines[at - 1][start:end]


@pytest.mark.parametrize(
    ("lines", "code", "line"),
    [
        (("with R.dataflow():", "    a = R.exp(x)", "    R.output()", "return a"), "RELAX-WF-1b", 6),
        (("c = R.const(True)", "if c:", "    a = x", "else:", "    b = x", "return a"), "RELAX-SCOPE-3", 8),
    ],
)
def test_late_uses_are_shown_where_they_are(lines: tuple[str, ...], code: str, line: int) -> None:
    """Guards the place: the use behind the block or branch, not the definition in it."""
    with pytest.raises(DiagnosticError) as error:
        load(body(*lines))
    (found,) = [d for d in error.value.diagnostics if d.code == code]
    assert f":{line}:" in found.render()


def test_a_mistake_in_an_inner_function_is_reported_once() -> None:
    """Guards what follows from it: a result that does not fit the annotation, and uses of the function."""
    inner = ["    with R.dataflow():", "        b = R.exp(aa)", "        R.output(b)", "    return b"]
    head = ["@R.function", "def inner(a: R.Tensor((2, 3), 'float32')) -> R.Tensor((2, 3), 'float32'):"]
    with pytest.raises(DiagnosticError) as error:
        load(body(*head, *inner, "y = inner(x)", "return y"))
    assert [d.code for d in error.value.diagnostics] == ["script-name"]
