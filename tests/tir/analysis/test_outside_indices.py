"""Accesses that certainly lie outside of their buffer are refused, and no others: the interpreter is the oracle."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from baton._src.driver.tir.build import build
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.analysis.outside_indices import outside_indices
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.text.parser import parse_text

HEAD = "def f(A: T.Buffer((4, 6), 'float32'), B: T.Buffer((8,), 'float32'), I: T.Buffer((8,), 'int32')):\n"


def findings(lines: str, head: str = HEAD) -> list[str]:
    """What is said of a kernel's body."""
    body = "".join(f"    {line}\n" for line in lines.strip("\n").split("\n"))
    return [d.message for d in outside_indices(parse_text(head + body))]


@pytest.mark.parametrize(
    "body",
    [
        "B[8] = 0.0",
        "B[-1] = 0.0",
        "C = T.alloc_buffer((3,))\nC[3] = 0.0",
        "C = T.Buffer((24,), 'float32', data=A.data)\nC[24] = 0.0",
        "for i in range(9):\n    B[i] = 0.0",
        "for i in range(8):\n    B[i] = A[i // 2, i % 7]",
        "for i in range(1000000):\n    if i >= 999990:\n        B[i - 999991] = 0.0",
        "for i in range(100000):\n    for j in range(100000):\n        if i < 9 and j < 3:\n            B[i] = 0.0",
        "for i in range(4):\n    B[T.Ramp(i * 2, 1, 4)] = T.Broadcast(T.float32(0), 4)",
        "for i in range(2):\n    with T.block('b'):\n        v = T.axis.spatial(16, i * 8)\n        B[v] = 0.0",
        "for i in range(8):\n    with T.block('b'):\n        v = T.axis.spatial(9, i + 1)\n"
        "        T.where(i < 8)\n        B[v] = 0.0",
        "for i in T.thread_binding(9, 'threadIdx.x'):\n    B[i] = 0.0",
        "for i in range(8):\n    B[i] = T.Select(i < 4, A[i, i], A[i - 3, i - 2])",
    ],
)
def test_what_is_outside_is_refused(body: str) -> None:
    """Guards constants, loops, conditions, vectors, axes of blocks, threads; loops too long to look at whole."""
    assert len(findings(body)) == 1


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(9):\n    if i < 8:\n        B[i] = 0.0",
        "for i in range(8):\n    B[i] = T.if_then_else(i < 4, A[i, 0], T.float32(0))",
        "for i in range(8):\n    B[i] = T.Select(i < 4, A[i, 0], T.float32(0))",
        "for i in range(9):\n    with T.block('b'):\n        v = T.axis.spatial(8, i)\n"
        "        T.where(i < 8)\n        B[v] = 0.0",
        "for i in range(9):\n    if i < 8 and B[i] > T.float32(0):\n        B[i] = 0.0",
        "for i in range(0):\n    B[9] = 0.0",
        "for i in range(8):\n    if I[i] < 0:\n        B[i + 1] = 0.0",
        "for i in range(8):\n    B[I[i] + 9] = 0.0",
        "for i in range(8):\n    for j in range(I[i]):\n        B[8] = 0.0",
        "for i in range(9):\n    if i == 8:\n        T.evaluate(T.break_loop())\n    B[i] = 0.0",
        "for i in range(9):\n    assert i < 8, 'enough'\n    B[i] = 0.0",
        "while I[0] > 0:\n    B[9] = 0.0",
        "T.evaluate(T.call_extern('int32', 'f', T.address_of(B[8])))",
        "C = T.Buffer((1,), 'float32', data=B.data)\nC[7] = 0.0",
        "p = T.handle('float32')\nwith T.LetStmt(T.call_extern('handle', 'f'), var=p):\n"
        "    C = T.Buffer((1,), 'float32', data=p)\n    C[7] = 0.0",
    ],
)
def test_what_is_guarded_or_not_known_is_left_alone(body: str) -> None:
    """Guards right programs: conditions that exclude it, what data decides, what may be left early, ends of buffers."""
    assert findings(body) == []


SIZES = "def f(a: T.handle, b: T.handle):\n    n = T.int32()\n    m = T.int32()\n"
SIZES += "    A = T.match_buffer(a, (n, m))\n    B = T.match_buffer(b, (n,))\n"


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("for i in range(n):\n    B[i] = A[i, m]", 1),
        ("for i in range(n):\n    B[i + 1] = 0.0", 1),
        ("for i in range(n):\n    B[n - i] = 0.0", 1),
        ("for i in range(n):\n    B[n - 1 - i] = A[i, m - 1]", 0),
        ("for i in range(n - 3):\n    B[i + 4] = 0.0", 0),  # runs for no n below 4
        ("for i in range(n):\n    if i + 1 < n:\n        B[i + 1] = 0.0", 0),
        ("for i in range(n):\n    for j in range(m):\n        B[i] = A[j, i]", 0),  # right if n and m are equal
        ("B[4] = 0.0", 0),
        ("C = T.Buffer((n,), 'float32', data=A.data)\nfor i in range(n):\n    C[i + 1] = 0.0", 0),  # a part of A
        ("C = T.Buffer((n, m), 'float32', data=A.data)\nfor i in range(n):\n    C[i + 1, 0] = 0.0", 1),
        ("C = T.Buffer((m, n), 'float32', data=A.data)\nfor i in range(m):\n    C[i + 1, 0] = 0.0", 0),
    ],
)
def test_sizes_that_are_not_constant(body: str, count: int) -> None:
    """Guards that an access is refused if it is outside for all sizes, and left alone if it is right for some."""
    assert len(findings(body, SIZES)) == count


def test_the_message_names_everything() -> None:
    """Guards the kernel, buffer, shape, index, iteration and range in what people read when they build."""
    func = parse_text(HEAD + "    for i in range(9):\n        B[i + 1] = A[0, 0]")
    with pytest.raises(DiagnosticError) as raised:
        build(func, target="llvm")
    text = str(raised.value)
    for part in ("PrimFunc f", "index i + 1", "axis 0 of B", "shape (8,)", "is 8 where i = 7", "from 1 to 9"):
        assert part in text


SMALL = "def f(A: T.Buffer((2, 4), 'float32'), B: T.Buffer((5,), 'float32')):\n"


def _program(draw: random.Random) -> str:
    """A kernel without data in its indices: loops that depend on each other, conditions, definitions, blocks."""
    lines: list[str] = []
    names: list[str] = []
    depth = 1

    def index() -> str:
        parts = [draw.choice([str(draw.randint(0, 3)), *names, *names]) for _ in range(draw.randint(1, 2))]
        whole = draw.choice([" + ", " + ", " - ", " * "]).join(parts)
        return draw.choice([whole, whole, f"({whole}) // {draw.randint(1, 3)}", f"({whole}) % {draw.randint(2, 7)}",
                            f"T.min({whole}, {draw.randint(0, 7)})"])  # fmt: skip

    def condition() -> str:
        return f"{index()} {draw.choice(['<', '>=', '>='])} {draw.randint(0, 3)}"

    def value() -> str:
        read = f"A[{index()}, {index()}]" if draw.random() < 0.6 else f"B[{index()}]"
        form = draw.choice(["{}", "T.if_then_else({c}, {}, T.float32(1))", "T.Select({c}, T.float32(1), {})"])
        return form.format(read, c=condition())

    for number in range(draw.randint(1, 4)):
        kind = draw.choice(["loop", "loop", "if", "let", "block"])
        if kind == "loop" or not names:
            start = draw.choice(["0", "1", *names])
            lines.append("    " * depth + f"for i{number} in range({start}, {draw.randint(0, 6)}):")
            names.append(f"i{number}")
        elif kind == "if":
            lines.append("    " * depth + f"if {condition()}:")
        elif kind == "let":
            lines.append("    " * depth + f"with T.LetStmt({index()}) as i{number}:")
            names.append(f"i{number}")
        else:
            lines.append("    " * depth + f"with T.block('b{number}'):")
            inner = "    " * (depth + 1)
            lines.append(f"{inner}i{number} = T.axis.opaque(8, {index()})")
            lines.append(f"{inner}T.where({condition()})")
            lines.append(f"{inner}T.reads()")
            lines.append(f"{inner}T.writes(B[0:5])")
            names[:] = [f"i{number}"]
        depth += 1
    lines.append("    " * depth + f"B[{index()}] = {value()}")
    return SMALL + "\n".join(lines)


def test_random_programs_are_refused_where_the_interpreter_fails() -> None:
    """Guards both directions: nothing right is refused, and nothing wrong that depends on no data is left."""
    count = {True: 0, False: 0}
    for seed in range(400):
        text = _program(random.Random(seed))
        func = parse_text(text)
        fails = _fails(func, (2, 4), (5,))
        assert bool(outside_indices(func)) == fails, text
        count[fails] += 1
    assert min(count.values()) > 80


def _fails(func: PrimFunc, *shapes: tuple[int, ...]) -> bool:
    """Whether the interpreter meets an access outside of its buffer."""
    try:
        run_prim_func(func, [np.zeros(shape, "float32") for shape in shapes])
    except DiagnosticError as error:
        return error.diagnostics[0].code == "tir-bounds"
    return False


def _program_of_sizes(draw: random.Random) -> str:
    """Loops, conditions and indices of symbolic sizes."""
    lines: list[str] = []
    names: list[str] = []

    def index() -> str:
        parts = [draw.choice([str(draw.randint(0, 2)), "n", "m", *names * 3]) for _ in range(draw.randint(1, 2))]
        whole = draw.choice([" + ", " + ", " - "]).join(parts)
        return draw.choice([whole, whole, whole, f"T.min({whole}, n - 1)", f"({whole}) // 2"])

    for depth in range(1, draw.randint(2, 4)):
        if depth == 1 or draw.random() < 0.6:
            extent = draw.choice(["n", "m", "n - 1", "n + 1", "4", "m"])
            lines.append("    " * depth + f"for i{depth} in range({extent}):")
            names.append(f"i{depth}")
        else:
            limit = draw.choice(["n", "m", "2", *names])
            lines.append("    " * depth + f"if {index()} {draw.choice(['<', '>='])} {limit}:")
    lines.append("    " * (len(lines) + 1) + f"B[{index()}] = A[{index()}, {index()}]")
    return SIZES + "\n".join(lines)


def test_random_programs_of_sizes_are_refused_only_if_all_sizes_fail() -> None:
    """Guards that what is refused is right for no sizes."""
    refused = 0
    for seed in range(150):
        text = _program_of_sizes(random.Random(seed))
        func = parse_text(text)
        if outside_indices(func):
            refused += 1
            shapes = itertools.product(range(1, 4), repeat=2)
            assert all(_fails(func, (n, m), (n,)) for n, m in shapes), text
    assert refused > 30
