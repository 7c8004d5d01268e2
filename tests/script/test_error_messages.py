"""Mistakes that users make: the code, the token under the caret, and what helps."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.structural import assert_structural_equal
from baton._src.relax.text.printer import script
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
        (body("y = R.emit()", "return y"), "script-value", "R.emit()", "R.emit takes value"),
        (body("y = R.emit_te()", "return y"), "script-value", "R.emit_te()", "takes a function"),
        (body("R.func_name()", "return x"), "script-value", "R.func_name()", "R.func_name takes name"),
        (body("R.func_ret_value(x, w)"), "script-value", "R.func_ret_value(x, w)", "takes value"),
        (body("y = R.match_cast(x)", "return y"), "script-value", "R.match_cast(x)", "value and struct_info"),
        (CALLEE.replace("M.f(x)", "cls(x)"), "script-value", "cls", "M is the module"),
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
            body("R.func_attr({'a': 1})", "R.func_attr({'a': 2})", "return x"),
            "script-value",
            "R.func_attr({'a': 2})",
            "the function has the attribute 'a' already",
        ),
        (body("return (y := R.add(x, x))"), "script-syntax", "y := R.add(x, x)", "`:=` expressions"),
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


def test_a_macro_that_calls_itself_is_told() -> None:
    """Guards endless expansion: Python's recursion error, and in kernels no end at all."""
    relax = "@R.macro\ndef m(x):\n    y = m(x)\n    return y\n" + body("y = m(x)", "return y")
    tir = "@T.macro\ndef m():\n    m()\n    m()\n@T.prim_func\ndef f(n: T.int32):\n    m()\n    m()\n"
    for text in (relax, tir):
        with pytest.raises(DiagnosticError, match="macro m calls itself without end"):
            load(text)


@pytest.mark.parametrize(
    "branches",
    [
        ("if c:", "    y = x", "else:", "    z = x"),
        ("if c:", "    y = x", "elif c:", "    z = x", "elif c:", "    y = x", "else:", "    y = x"),
        ("if c:", "    y = x", "else:", "    pass"),
    ],
)
def test_what_only_some_branches_assign_is_told(branches: tuple[str, ...]) -> None:
    """Guards the value of the if: the y from before it was returned, whatever the branches had assigned."""
    with pytest.raises(DiagnosticError, match="not all branches end by assigning y"):
        load(body("y = R.exp(x)", "c = R.const(True)", *branches, "return y"))


@pytest.mark.rule("RELAX-SCRIPT-07")
@pytest.mark.parametrize("last", ["z = R.exp(x)", "R.print(x)", "pass"])
def test_branches_that_bind_nothing_together_are_unit(last: str) -> None:
    """Guards programs against a refusal of names that are new in a branch."""
    lines = ("if R.const(True):", "    y = R.exp(x)", "else:", f"    {last}", "return x")
    found: Any = load(body(*lines).replace("@R.function", "@R.function(pure=False)"))
    chosen = found.body.blocks[0].bindings[0].value
    assert [len(branch.body.fields) for branch in (chosen.true_branch, chosen.false_branch)] == [0, 0]
    assert_structural_equal(load(script(found)), found)


@pytest.mark.parametrize("line", ["R.emit_te(1.5)", "y = R.emit_te([x])", "R.emit_var_binding(x)"])
def test_emitting_something_else_is_told(line: str) -> None:
    """They were a TypeError of calling a number, and a failed assertion."""
    with pytest.raises(DiagnosticError, match="script-value"):
        load(body(line, "return x"))


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
        (
            ("c = R.const(True)", "if c:", "    a = x", "    p = x", "else:", "    p = x", "return a"),
            "RELAX-SCOPE-3",
            9,
        ),
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
