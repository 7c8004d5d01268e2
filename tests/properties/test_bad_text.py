"""Texts that were damaged, and texts that never made sense: TVMScript's reader answers with diagnostics, nothing else.

Programs of the tests' generators and hand-written ones are mutated at their tokens (dropped, doubled, swapped, replaced
by others), at their characters, and at the nodes of their syntax tree. What is still accepted prints and reads back.
"""

from __future__ import annotations

import ast
import copy
import io
import itertools
import random
import tokenize
import warnings
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from baton._src.relax.text.printer import script
from baton._src.support.diagnostics import DiagnosticError
from tests.at_length import at_length
from tests.relax.build import load
from tests.relax.random_programs.strategies import KERNEL, Program, programs

WHOLE = """
@I.ir_module
class Module:
    I.module_attrs({"note": 1})
    I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

    @T.prim_func(private=True)
    def scale(a: T.handle, s: T.float32, b: T.handle):
        T.func_attr({"tir.noalias": True})
        n = T.int64()
        A = T.match_buffer(a, (n, 4), "float32", strides=(4, 1), offset_factor=1)
        B = T.match_buffer(b, (n, 4), "float32")
        with T.block("root"):
            C = T.alloc_buffer((n, 4), "float32", scope="local")
            for i in T.parallel(n):
                for j in T.vectorized(T.int64(4)):
                    with T.block("c"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        T.where(vi < n)
                        T.reads(A[vi, 0:4])
                        T.writes(C[vi, vj])
                        C[vi, vj] = T.if_then_else(A[vi, vj] > T.float32(0), A[vi, vj] * s, T.exp(A[vi, vj]))
            for i, j in T.grid(n, T.int64(4)):
                with T.block("b"):
                    vi = T.axis.spatial(n, i)
                    vj = T.axis.reduce(T.int64(4), j)
                    with T.init():
                        B[vi, 0] = T.float32(0)
                    B[vi, 0] = B[vi, 0] + C[vi, vj]

    @R.function(private=True)
    def twice(f: R.Callable((R.Tensor(("n", 4), "float32"),), R.Tensor(("n", 4), "float32")),
              x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        y = f(x)
        return f(y)

    @R.function(pure=False)
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool"), p: R.Prim(value="k"),
             t: R.Tuple(R.Tensor, R.Shape(["m", 4]), R.Object)) -> R.Tuple(R.Tensor(("n", 4), "float32"), R.Object):
        n, m = T.int64(), T.int64()
        R.func_attr({"relax.force_pure": False})
        with R.dataflow():
            a = R.call_tir(cls.scale, (x, R.prim_value(T.float32(2))), R.Tensor((n, 4), "float32"))
            b: R.Tensor((n, 4), "float32") = R.add(a, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
            R.output(b)
        @R.function
        def local(z: R.Tensor((n, 4), "float32")) -> R.Tensor((n, 4), "float32"):
            return R.multiply(z, b)
        d = cls.twice(local, b)
        if c:
            R.print(d, format="{}")
            e = R.nn.relu(d)
        else:
            e = R.reshape(R.permute_dims(d), R.shape([n, 4]))
        q = R.match_cast(t[0], R.Tensor((m, n + 1), "float32"))
        _ = R.call_packed("test.note", q, sinfo_args=(R.Object,))
        assert_ = R.assert_op(c, R.shape_of(x), format="{}")
        return (e, t[2])
"""
SEEDS = [WHOLE, "@I.ir_module\nclass Module:\n" + "\n".join("    " + line for line in KERNEL.splitlines())]
SPICE = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    ":",
    "=",
    "==",
    "->",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "@",
    "~",
    "not",
    "lambda",
    "None",
    "True",
    "False",
    "...",
    "0",
    "-1",
    "2",
    "1.5",
    "1e400",
    "9999999999999999999999",
    '"n"',
    '"float32"',
    '""',
    '"int3"',
    'b"x"',
    'f"{n}"',
    "x",
    "n",
    "cls",
    "self",
    "I",
    "R",
    "T",
    "R.add",
    "R.Tensor",
    "R.Tuple",
    "T.int64",
    "T.handle",
    "T.block",
    "T.grid",
    "T.axis",
    "R.dataflow()",
    "R.output",
    "T.float32(1)",
    "T.Buffer",
    "R.function",
    "T.prim_func",
    "I.ir_module",
    "pass",
    "return",
    "if",
    "else",
    "for",
    "while",
    "with",
    "def",
    "class",
    "del",
    "global",
    "import",
    "yield",
    "await",
    "async",
    "try",
    "raise",
    "*x",
    "**x",
    "x:=1",
    "[x]",
    "(x,)",
    "{1:2}",
    "x[0]",
    "x[::2]",
    "x()",
    "lambda:0",
]


def reads(text: str) -> None:
    """Read it: a diagnostic or a program that prints and reads back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = load(text)
        except DiagnosticError as error:
            str(error)
            return
        load(script(found, show_meta=True))


def tokens_of(text: str) -> list[str]:
    """The text cut at its tokens; joined again it is the same."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    places = {0, len(text)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        for row, column in (token.start, token.end):
            if row <= len(lines):
                places.add(starts[row - 1] + column)
    ordered = sorted(places)
    return [text[a:b] for a, b in itertools.pairwise(ordered)]


def damage_tokens(text: str, rng: random.Random) -> str:
    """One to three tokens dropped, doubled, swapped or replaced."""
    parts = tokens_of(text)
    for _ in range(rng.randint(1, 3)):
        place, other = rng.randrange(len(parts)), rng.randrange(len(parts))
        match rng.randrange(5):
            case 0:
                parts[place] = ""
            case 1:
                parts[place] += " " + parts[place]
            case 2:
                parts[place], parts[other] = parts[other], parts[place]
            case 3:
                parts[place] = parts[other]
            case _:
                parts[place] = rng.choice(SPICE)
    return "".join(parts)


def damage_characters(text: str, rng: random.Random) -> str:
    """Some characters replaced, dropped or inserted, and sometimes the end cut off."""
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(text))
        piece = rng.choice(["", "\n", " ", "\x00", "é", "(", "'", '"', "\t", "\\", "#", "0", "\u2028", text[place] * 3])
        text = text[:place] + piece + text[place + rng.randint(0, 3) :]
    return text if rng.randrange(4) else text[: rng.randrange(len(text))]


def damage_tree(text: str, rng: random.Random) -> str:
    """An expression or a statement replaced by another of the program; the text stays Python."""
    tree = ast.parse(text)
    for kind in rng.sample([ast.expr, ast.stmt], 2)[: rng.randint(1, 2)]:
        nodes = [n for n in ast.walk(tree) if isinstance(n, kind)]
        _replace(tree, rng.choice(nodes), copy.deepcopy(rng.choice(nodes)))
    return ast.unparse(ast.fix_missing_locations(tree))


def _replace(tree: ast.AST, target: ast.AST, source: ast.AST) -> None:
    for node in ast.walk(tree):
        for name, content in ast.iter_fields(node):
            if content is target:
                setattr(node, name, source)
            elif isinstance(content, list):
                setattr(node, name, [source if item is target else item for item in content])


DAMAGES: dict[str, Callable[[str, random.Random], str]] = {
    "tokens": damage_tokens,
    "characters": damage_characters,
    "tree": damage_tree,
}


def examples(count: int) -> settings:
    return settings(max_examples=count, suppress_health_check=list(HealthCheck))


def check_damaged(text: str, how: str, seed: int) -> None:
    damaged = DAMAGES[how](text, random.Random(seed))
    note(damaged)
    reads(damaged)


def test_the_texts_to_damage_are_good() -> None:
    """A guard on the tests below."""
    for text in SEEDS:
        load(text)


@pytest.mark.parametrize("statement", ["() = A[0]", "[] = T.exp(A[0])", "v = T.meta_var()", "v = T.meta_var(1, 2)"])
def test_assignments_without_names_or_values(statement: str) -> None:
    """Found by make fuzz: Python allows them, the reader took the first of none."""
    text = f"@T.prim_func\ndef f(a: T.handle):\n    A = T.match_buffer(a, (4,))\n    {statement}\n    T.evaluate(0)\n"
    with pytest.raises(DiagnosticError, match="tir-syntax"):
        load(text)


@pytest.mark.parametrize("how", DAMAGES)
@given(st.sampled_from(SEEDS), st.integers(0, 2**32))
@examples(100)
def test_damaged_texts_are_diagnosed(how: str, text: str, seed: int) -> None:
    """Guards against tracebacks from inside the reader, the checker and the printer."""
    check_damaged(text, how, seed)


@given(programs(max_statements=4), st.sampled_from(sorted(DAMAGES)), st.integers(0, 2**32))
@examples(80)
def test_damaged_programs_are_diagnosed(program: Program, how: str, seed: int) -> None:
    """The same for generated programs."""
    check_damaged(script(program.module, show_meta=True), how, seed)


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(SPICE), max_size=30).map(" ".join)))
@examples(100)
def test_random_text_is_diagnosed(text: str) -> None:
    """As a whole, as a module, as the body of a Relax function and of a kernel."""
    body = "\n".join(["    pass", *("    " + line for line in text.splitlines())])
    reads(text)
    reads(f"@I.ir_module\nclass Module:\n{body}\n")
    reads(f"@R.function\ndef f(x: R.Tensor):\n{body}\n    return x\n")
    reads(f"@T.prim_func\ndef f(x: T.handle):\n{body}\n")


@pytest.mark.fuzz
@pytest.mark.parametrize("how", DAMAGES)
@given(st.sampled_from(SEEDS), st.integers(0, 2**32))
@examples(at_length(10_000))
def test_damaged_texts_at_length(how: str, text: str, seed: int) -> None:
    """The same, for many."""
    check_damaged(text, how, seed)
