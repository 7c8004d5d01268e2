"""Printing and reading back: the same program, and the same text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from baton._src.ir.expr import Range
from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.ir.traverse import post_order
from baton._src.passes.tir.flatten_accesses import FlattenBuffer
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import operators as ops
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.expr import BufferLoad, Div, FloorDiv, FloorMod, IntImm, IterVar, Mod, Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import AttrStmt, Block, BufferStore, Evaluate, For, ForKind, LetStmt, SeqStmt, Stmt
from baton._src.tir.text.parser import parse_text
from baton._src.tir.text.printer import node_text, script
from tests.tir.programs import matmul_add, programs


@settings(max_examples=150)
@given(programs())
def test_what_is_printed_reads_back_structurally_equal(func: PrimFunc) -> None:
    """Guards printer and parser over every kind of statement and expression."""
    text = script(func)
    again = parse_text(text)
    assert_structural_equal(func, again)
    assert script(again) == text


@pytest.mark.parametrize("n", [4, Var("n", "int64")])
def test_a_matmul_from_te_reads_back(n: object) -> None:
    """Guards blocks with reductions, symbolic shapes and the implicit root block."""
    func = matmul_add(n)
    assert_structural_equal(func, parse_text(script(func)))


def test_the_style_is_that_of_tvm() -> None:
    """Guards the surface syntax users and tools know."""
    text = script(matmul_add(Var("n", "int64")))
    for line in (
        "@T.prim_func",
        'def main(var_A: T.handle, B: T.Buffer((8, 5), "float32"), var_D: T.handle):',
        'T.func_attr({"tir.noalias": T.bool(True)})',
        "n = T.int64()",
        "A = T.match_buffer(var_A, (n, T.int64(8)))",
        "for i, j, k in T.grid(n, T.int64(5), 8):",
        'with T.block("C"):',
        'v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])',
        "T.reads(A[v_i, v_k], B[v_k, v_j])",
        "with T.init():",
        "C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]",
    ):
        assert f"{line}\n" in f"{text}\n", line


def test_long_chains_print_without_recursion() -> None:
    """Guards against the Python stack."""
    n = Var("n", "int32")
    total = n
    for _ in range(20_000):
        total = ops.add(total, n)
    assert node_text(total).count("+") == 20_000


def test_deep_chains_of_lets_print_and_read_back() -> None:
    """Guards statement chains of any depth."""
    source = parse_text("def main(A: T.Buffer((4,), 'int32')):\n    A[0] = 1")
    buffer = next(iter(source.buffer_map.values()))
    body: Stmt = BufferStore(buffer, BufferLoad(buffer, (IntImm("int32", 1),)), (IntImm("int32", 0),))
    for k in range(3_000):
        body = LetStmt(Var(f"x{k}", "int32"), IntImm("int32", k), body)
    func = source.with_fields(body=body)
    assert_structural_equal(func, parse_text(script(func)))


def test_a_chain_of_a_thousand_terms_reads_back() -> None:
    """Guards reading deep expressions (the depth is that of Python's own parser)."""
    terms = " + ".join(["n"] * 1_000)
    func = parse_text(f"def main(n: T.int32):\n    T.evaluate({terms})")
    assert isinstance(func.body, Evaluate)
    assert node_text(func.body.value) == terms


def test_parts_of_a_program_print_alone() -> None:
    """Guards `repr` of nodes that are no whole program: blocks, regions, ranges, axes, buffers."""
    func = matmul_add(4)
    blocks = [n for n in post_order(func.body) if isinstance(n, Block) and n.name_hint == "C"]
    assert node_text(blocks[0]).startswith('with T.block("C"):')
    assert node_text(blocks[0].reads[0]) == "A[v_i, v_k]"
    assert node_text(blocks[0].iter_vars[2]) == 'T.iter_var(v_k, I.Range(0, 8), "CommReduce", "")'
    assert node_text(blocks[0].reads[0].buffer) == "A"
    assert node_text(func).endswith("D[v_i, v_j] = C[v_i, v_j] + T.float32(1)")


BAD = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int32"), c):
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] + 1
            B[vj] = 3
    for j in items(3):
        A[j] = 1.0
    A[0, 1] = 2.0
    x = undefined + 1
    A[x] = 2.0
"""


def test_every_mistake_of_a_function_is_reported_once_at_its_place() -> None:
    """Guards recovery: one run finds all of them, and nothing is reported because of an earlier one."""
    with pytest.raises(DiagnosticError) as caught:
        parse_text(BAD)
    found = [(d.code, d.span.line if d.span else None) for d in caught.value.diagnostics]
    assert found == [
        ("tir-params", 3),
        ("tir-dtype", 7),
        ("tir-name", 8),
        ("tir-loop", 9),
        ("tir-indices", 11),
        ("tir-name", 12),
    ]
    assert "B[vi] = A[vi] + 1\n  |                     ^^^^^^^^^" in str(caught.value)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("A[0] = T.float32(1)", "tir-dtype"),
        ("T.evaluate(n / n)", "tir-division"),
        ("T.evaluate(T.nothing(n))", "tir-call"),
        ("v = T.axis.spatial(4, n)", "tir-block"),
        ("import os", "tir-syntax"),
        ("T.evaluate(T.exp(n, n))", "tir-call"),
        ("n", "tir-syntax"),
        ("for i in range(1.5):\n        pass", "tir-loop"),
    ],
)
def test_wrong_statements_are_refused(body: str, code: str) -> None:
    """Guards the codes of the most likely mistakes."""
    with pytest.raises(DiagnosticError) as caught:
        parse_text(f"def f(A: T.Buffer((4,), 'int32'), n: T.int32):\n    {body}")
    assert caught.value.code == code


@pytest.mark.parametrize("base", ["i", "i * 8", "T.int64(3) + j", "P[i]", "i // 3 * 8 + 5", "T.min(i, 7)"])
@pytest.mark.parametrize("stride", [1, 3])
def test_vectors_of_indices_are_slices(base: str, stride: int) -> None:
    """Both forms are read; what is printed is the slice, as TVM prints it, and reads back the same."""
    text = (
        "@T.prim_func\ndef f(A: T.Buffer((99,), 'float32'), P: T.Buffer((9,), 'int32')):\n"
        "    for i, j in T.grid(9, T.int64(8)):\n"
        f"        A[T.Ramp({base}, {stride}, 8)] = T.Broadcast(T.float32(1), 8)\n"
    )
    func = parse_text(text)
    printed = script(func)
    assert "T.Ramp" not in printed
    assert printed.count(":", printed.rindex("A[")) == (1 if stride == 1 else 2)
    assert_structural_equal(func, parse_text(printed))


@pytest.mark.parametrize("index", ["T.Ramp(9, -1, 8)", "T.Ramp(i, i, 8)"])
def test_vectors_that_are_no_slices_stay_ramps(index: str) -> None:
    text = (
        "@T.prim_func\ndef f(A: T.Buffer((99,), 'float32')):\n"
        f"    for i in range(9):\n        A[{index}] = T.Broadcast(T.float32(1), 8)\n"
    )
    assert f"A[{index}] = " in script(parse_text(text))


@pytest.mark.parametrize("dom", [None, Range(IntImm("int32", 0), IntImm("int32", 4))])
def test_axes_of_attributes_that_launch_nothing_name_a_variable(dom: Range | None) -> None:
    """Guards its declaration: the text named a variable that it did not have."""
    v = Var("v", "int32")
    body = AttrStmt(IterVar(dom, v, IterVar.DimInfo), "pragma_hint", IntImm("int32", 2), Evaluate(v))
    func = PrimFunc((), body)
    assert "    v = T.int32()" in script(func).splitlines()
    assert_structural_equal(func, parse_text(script(func)), map_free_vars=True)


@pytest.mark.parametrize("kind", [FloorDiv, FloorMod])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_quotients_and_remainders_read_back(kind: type, dtype: str) -> None:
    """Guards the remainder of floats, which is exact: as `%` it was read back as `a - floor(a / b) * b`."""
    a, b = Var("a", dtype), Var("b", dtype)
    func = PrimFunc([a, b], Evaluate(kind(a, b)))
    assert_structural_equal(func, parse_text(script(func)))


@pytest.mark.parametrize("kind", [Div, Mod, FloorDiv, FloorMod])
def test_divisions_by_a_literal_zero_read_back(kind: type) -> None:
    """Found by random kernels: `a // 0` is refused where it is written so, and not where the word stands."""
    a = Var("a", "int16")
    func = PrimFunc([a], Evaluate(kind(a, IntImm("int16", 0))))
    assert_structural_equal(func, parse_text(script(func)))


def test_a_variable_bound_twice_has_a_name_of_its_own_each_time() -> None:
    """Guards text of programs that bind a variable in two places: in the second one it kept a name that another
    variable has there.
    """
    outer, inner = Var("i", "int32"), Var("i", "int32")
    A = decl_buffer((8, 8), "int32", "A")
    first = For(outer, 0, 8, ForKind.SERIAL, BufferStore(A, 1, [outer, 0]))
    second = For(inner, 0, 8, ForKind.PARALLEL, BufferStore(A, outer, [outer, inner]))
    text = script(PrimFunc([A], SeqStmt([first, For(outer, 0, 8, ForKind.SERIAL, second)])))
    assert "A[i, i_1] = i" in text


def test_buffers_are_named_where_what_places_them_is_known() -> None:
    """Found by random kernels: a buffer that nothing declares was named in front of the loop that its offset names."""
    text = """
@T.prim_func
def main(A: T.Buffer((24,), "int32")):
    for i in range(3):
        row = T.Buffer((4,), "int32", data=A.data, elem_offset=i * 8)
        with T.block("b"):
            v = T.axis.spatial(4, i)
            T.reads()
            T.writes()
            with T.LetStmt(v * 2) as x:
                part = T.Buffer((2,), "int32", data=A.data, elem_offset=x + i)
                part[0] = row[1]
"""
    func = parse_text(text)
    shown = script(func)
    assert_structural_equal(func, parse_text(shown))
    assert shown.index("in range(3)") < shown.index("row =") < shown.index("x: T.int32") < shown.index("part =")


def test_a_size_that_stands_for_a_value_stays_a_size() -> None:
    """A let of a SizeVar was printed as of a Var, which is another function."""
    text = """@T.prim_func
def kernel(A: T.Buffer((4,), "int32")):
    n: T.SizeVar("n", "int32") = A[0] + 1
    A[1] = n
"""
    kernel = parse_text(text)
    assert 'n: T.SizeVar("n", "int32") = A[0] + 1' in script(kernel)
    assert_structural_equal(parse_text(script(kernel)), kernel)


def test_a_root_within_flat_buffers_is_the_root() -> None:
    """Found by flattening a kernel that still had its blocks: its text was read with another root around it."""
    text = """@T.prim_func
def kernel(A: T.Buffer((4, 2), "int32")):
    for i, j in T.grid(4, 2):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] + 1
"""
    flat = FlattenBuffer()(IRModule({"kernel": parse_text(text)}))["kernel"]
    assert_structural_equal(parse_text(script(flat)), flat)
