"""Attributes in TVMScript: of functions, loops and blocks, of `T.attr`, and what they may hold."""

from __future__ import annotations

import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.ir.target import Target
from baton._src.passes.tir.lower_opaque_block import LowerOpaqueBlock
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.text.parser import parse_text
from baton._src.tir.text.printer import script


def read(*lines: str, params: str = 'A: T.Buffer((8,), "float32")') -> object:
    return parse_text("\n    ".join([f"def main({params}):", *lines]))


def reads_back(func: object) -> str:
    text = script(func)
    again = parse_text(text)
    assert_structural_equal(func, again, map_free_vars=True)
    assert script(again) == text
    return text


@pytest.mark.parametrize("target", ["llvm -mcpu=core-avx2", {"kind": "llvm", "host": "llvm -num-cores=2"}])
def test_targets_read_back(target: object) -> None:
    """Guards the attribute that BindTarget gives: it was printed as no Python, and refused where a script had it."""
    func = read("A[0] = T.float32(0)").with_attr("target", Target(target)).with_attr("more", [Target("llvm")])
    again = parse_text(script(func))
    assert again.attrs["target"] == Target(target)
    assert again.attrs["more"] == [Target("llvm")]


def test_integers_of_attributes_are_integers_of_python() -> None:
    """Guards 1 and T.int32(1), which print as the same, being the same."""
    func = read('T.func_attr({"a": T.int32(1), "b": [T.int32(2), T.int64(3)]})', "A[0] = T.float32(0)")
    assert func.attrs["a"] == 1
    reads_back(func)


def test_pragmas_in_front_of_their_loop_read_back() -> None:
    """Guards what LowerOpaqueBlock makes of annotations: it names the variable of the loop that follows."""
    loop = 'for i in T.serial(8, annotations={"pragma_auto_unroll_max_step": 4, "pragma_x": "y"}):'
    func = LowerOpaqueBlock()(IRModule({"main": read(loop, "    A[i] = T.float32(0)")}))["main"]
    text = reads_back(func)
    assert 'T.attr(i, "pragma_auto_unroll_max_step", 4)\n' in text
    again = parse_text(text)
    assert again.body.node is again.body.body.node is again.body.body.body.loop_var


@pytest.mark.parametrize(
    ("statements", "code"),
    [
        (['T.attr(i, "pragma_x", 1)', "A[0] = T.float32(0)"], "tir-name"),
        (['T.attr(i, "note", 1)', "for i in range(8):", "    A[i] = T.float32(0)"], "tir-name"),
        (['T.attr(i, "pragma_x", 1)', "for j in range(8):", "    A[j] = T.float32(0)"], "tir-name"),
        (['T.attr(A.data, "note")', "A[0] = T.float32(0)"], "tir-syntax"),
        (["T.func_attr({T: True})", "A[0] = T.float32(0)"], "tir-attribute"),
        (["T.attr(A.data, 1, 2)", "A[0] = T.float32(0)"], "tir-syntax"),
    ],
)
def test_wrong_attributes_are_refused(statements: list[str], code: str) -> None:
    """Guards names that no loop behind a pragma has."""
    with pytest.raises(DiagnosticError) as caught:
        read(*statements)
    assert [d.code for d in caught.value.diagnostics] == [code]


def test_reducers_read_back() -> None:
    """Guards T.comm_reducer, of one value and of two."""
    text = reads_back(
        read(
            'T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", 0)',
            'T.attr(T.comm_reducer(lambda a, b, c, d: (a + c, T.max(b, d)), [0, T.float32(1)]), "reduce_scope", 0)',
            "A[0] = T.float32(0)",
        )
    )
    assert 'T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", 0)' in text


def test_reducers_need_two_parameters_for_each_value() -> None:
    """Guards the count of parameters."""
    with pytest.raises(DiagnosticError, match="1 identity elements need 2 parameters, got 1"):
        read('T.attr(T.comm_reducer(lambda x: x, [T.float32(0)]), "reduce_scope", 0)')


def test_calls_state_their_dtype_where_tvm_does() -> None:
    """Guards fields of structures (the dtype stands last) and packed calls (a dtype may be stated)."""
    text = reads_back(
        read(
            'n: T.int32 = T.tvm_struct_get(h, 0, 5, "int32")',
            'p: T.handle = T.tvm_struct_get(h, 0, 1, dtype="handle")',
            'T.call_packed("f", n, dtype="int32")',
            'T.call_cpacked("f", p)',
            params="h: T.handle",
        )
    )
    assert 'n: T.int32 = T.tvm_struct_get(h, 0, 5, "int32")' in text
    assert 'T.tvm_struct_get(h, 0, 1, "handle")' in text
