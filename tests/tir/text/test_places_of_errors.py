"""Mistakes in scripts are told at the very words that are wrong: line and column."""

from __future__ import annotations

import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.text.parser import parse_text

HEAD = 'def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "int32"), n: T.int32):\n'
BLOCK = 'with T.block("b"):\n    '


@pytest.mark.parametrize(
    ("statement", "code", "wrong"),
    [
        ("B[n / 2] = 1", "tir-division", "n / 2"),
        ("B[0] = 1 + (n // 0)", "tir-zero-division", "n // 0"),
        ("B[0] = 3 * (n and 3)", "tir-dtype", "n and 3"),
        ("A[0, 0] = 1.0 + T.Select(n, T.float32(0), 1.0)", "tir-dtype", "T.Select(n, T.float32(0), 1.0)"),
        ('A[0, 0] = T.call_extern("f", A[0, 0])', "dtype-unknown", 'T.call_extern("f", A[0, 0])'),
        ("while n: B[0] = 1", "tir-dtype", "n"),
        ('assert n, "n"', "tir-dtype", "n"),
        ("B[0] = T.min(n)", "tir-call", "T.min(n)"),
        ("x = T.allocate([8])", "tir-syntax", "T.allocate([8])"),
        ('x = T.allocate(8, "int32")', "tir-syntax", 'T.allocate(8, "int32")'),
        ("for i in T.thread_binding(8): B[i] = 1", "tir-loop", "T.thread_binding(8)"),
        ("for i in T.serial(8, annotations=3): B[i] = 1", "tir-loop", "T.serial(8, annotations=3)"),
        ("for i in range(8): B[i] = 1\nelse: B[0] = 2", "tir-syntax", "B[0] = 2"),
        ("while n < 8: B[0] = 1\nelse: B[0] = 2", "tir-syntax", "B[0] = 2"),
        ("i = 0\nwhile i < 8: i += 1", "tir-loop", "i"),
        ('for i in T.thread_binding(thread="x"): B[i] = 1', "tir-loop", 'T.thread_binding(thread="x")'),
        ("T.Assert(n > 0)", "tir-syntax", "T.Assert(n > 0)"),
        ('T.Assert(n, "n")', "tir-dtype", 'T.Assert(n, "n")'),
        ("with T.LetStmt() as x: B[x] = 1", "tir-syntax", "T.LetStmt()"),
        ('with T.block("b", no_realize=True): B[0] = 1', "tir-block", 'T.block("b", no_realize=True)'),
        (f"{BLOCK}T.where(n)\n    B[0] = 1", "tir-dtype", "n"),
        (f"{BLOCK}T.where(n > 0)\n    T.where(n > 1)\n    B[0] = 1", "tir-block", "T.where(n > 1)"),
        (f"{BLOCK}T.block_attr(3)\n    B[0] = 1", "tir-syntax", "T.block_attr(3)"),
        (f"{BLOCK}C = T.match_buffer(B[0:4], (5,))\n    C[0] = 1", "tir-buffer", "T.match_buffer(B[0:4], (5,))"),
        (f"{BLOCK}C = T.match_buffer(A[0:4, 0:4], (4,))\n    C[0] = 1.0", "tir-buffer",
         "T.match_buffer(A[0:4, 0:4], (4,))"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_where_it_stands(statement: str, code: str, wrong: str) -> None:
    """Guards the place: operators named that of their operand's definition, and some mistakes had none. And loops: what
    stood in an else was lost, and a variable of Python's does not count turns.
    """
    text = HEAD + "".join(f"    {line}\n" for line in statement.split("\n"))
    with pytest.raises(DiagnosticError) as caught:
        parse_text(text)
    (found,) = [d for d in caught.value.diagnostics if d.code == code]
    assert found.span is not None
    line = text.split("\n")[found.span.line - 1]
    assert line[found.span.column - 1 : found.span.end_column - 1] == wrong


def test_a_block_begins_once() -> None:
    """Guards two T.init in one block, of which the first was lost."""
    init = "    with T.init():\n            B[0] = 1\n"
    with pytest.raises(DiagnosticError, match=r"the block has a T\.init already"):
        parse_text(f'{HEAD}    with T.block("b"):\n    {init}    {init}        B[0] = 2\n')


def test_words_take_what_tvm_takes_by_name() -> None:
    """Guards names of arguments: a block was given none, and a dtype of axes was passed over."""
    plain = f"""{HEAD}    for i in T.serial(0, 8):
        with T.block("b"):
            v = T.axis.spatial(T.int64(8), T.Cast("int64", i))
            B[v] = 3
"""
    named = f"""{HEAD}    for i in T.serial(start=0, stop=8):
        with T.block(name="b"):
            v = T.axis.remap(kinds="S", bindings=[i], dtype="int64")
            B[v] = 2 ^ 1
"""
    assert parse_text(named).script() == parse_text(plain).script()
    by_name = plain.replace('spatial(T.int64(8), T.Cast("int64", i))', 'spatial(dom=8, binding=i, dtype="int64")')
    assert parse_text(by_name).script() == parse_text(plain).script()


def test_views_may_leave_out_axes_of_one_element() -> None:
    """Guards regions of more axes than their view."""
    parse_text(f"{HEAD}    {BLOCK}    C = T.match_buffer(A[n, 0:4], (4,))\n        C[0] = 1.0\n")
