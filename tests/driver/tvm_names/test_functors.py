"""TVM's visitors of TIR: which nodes their functions are given, and in which order."""

from __future__ import annotations

from typing import Any

from baton import tir
from baton._src.tir.text.parser import parse_text

LOOP = parse_text("""
def main(A: T.Buffer((8,), "float32"), n: T.int32):
    for i in range(n):
        A[i] = T.float32(2) * T.float32(3)
""")


def test_what_is_visited() -> None:
    """Guards variables where they are defined, and buffers, which TVM's visitors pass over; and nodes used twice."""
    seen: list[str] = []
    tir.stmt_functor.post_order_visit(LOOP.body, lambda node: seen.append(type(node).__name__))
    assert seen == ["IntImm", "Var", "FloatImm", "FloatImm", "Mul", "Var", "BufferStore", "For"]
    x = tir.Var("a", "int32") + 1
    seen.clear()
    tir.stmt_functor.pre_order_visit(tir.Evaluate(x * x), lambda node: seen.append(type(node).__name__))
    assert seen == ["Evaluate", "Mul", "Add", "Var", "IntImm"]


def test_what_a_replacement_holds_is_left_alone() -> None:
    """Guards `preorder`: its results were given to `postorder`, too."""

    def before(node: Any) -> Any:
        return tir.IntImm("int32", 5) if isinstance(node, tir.Add) else None

    def after(node: Any) -> Any:
        return tir.IntImm("int32", node.value * 10) if isinstance(node, tir.IntImm) else None

    found = tir.stmt_functor.ir_transform(tir.Evaluate((tir.Var("a", "int32") + 1) * 2), before, after)
    assert str(found) == "T.evaluate(T.Mul(5, 20))"


def test_callbacks_of_parts_come_between_those_of_the_whole() -> None:
    """Guards scripts that keep the loops around: all `preorder`s came before the first `postorder`."""
    around: list[str] = []
    stores: list[list[str]] = []

    def before(node: Any) -> None:
        around.append(node.loop_var.name)

    def after(node: Any) -> None:
        stores.append(list(around))
        around.pop()

    first, second = (LOOP.body.with_fields(loop_var=tir.Var(name, "int32")) for name in "xy")
    tir.stmt_functor.ir_transform(tir.SeqStmt([first, second]), before, after, ["tir.For"])
    assert stores == [["x"], ["y"]]
