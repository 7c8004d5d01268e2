"""Blocks that scripts begin and end themselves with a BlockBuilder, as passes do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from baton._src.ir.module import IRModule
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Constant, DataflowBlock, Function, Var
from baton._src.support.diagnostics import DiagnosticError
from tests.relax.build import RELAX, Ts


def build(between: Callable[[BlockBuilder], object]) -> IRModule:
    """A function that does something between its binding and its end."""
    x = Var("x", Ts((2,), "float32"))
    builder = BlockBuilder()
    with builder.function("main", [x]):
        y = builder.emit(RELAX.exp(x))
        between(builder)
        builder.emit_func_output(y)
    return builder.get()


def _end_within(builder: BlockBuilder) -> None:
    with builder.dataflow():
        builder.end_block()


@pytest.mark.rule("RELAX-BB-1", rejects=True)
@pytest.mark.parametrize("end", [BlockBuilder.end_block, _end_within], ids=["function", "dataflow"])
def test_only_what_was_begun_is_ended(end: Callable[[BlockBuilder], object]) -> None:
    """It took the function's own blocks, and the function broke with an IndexError."""
    with pytest.raises(DiagnosticError, match="end_block without begin_binding_block"):
        build(end)


@pytest.mark.rule("RELAX-BB-2", rejects=True)
def test_a_function_does_not_end_inside_a_block_that_was_begun() -> None:
    """The function was made of that block alone: the bindings before it were lost."""
    with pytest.raises(DiagnosticError, match="inside a block that was begun"):
        build(BlockBuilder.begin_binding_block)


@pytest.mark.rule("RELAX-BB-2")
def test_a_builder_goes_on_after_a_function_that_failed() -> None:
    """Also where that left a block open."""
    builder = BlockBuilder()
    for name in ("failed", "main"):
        x = Var("x", Ts((2,), "float32"))
        try:
            with builder.function(name, [x]):
                if name == "failed":
                    builder.begin_binding_block()
                builder.emit_func_output(RELAX.exp(x))
        except DiagnosticError:
            assert name == "failed"
    assert [v.name_hint for v in builder.get().functions] == ["main"]


@pytest.mark.rule("RELAX-BB-1")
def test_blocks_that_are_begun_stand_beside_the_function_s_own() -> None:
    made: list[object] = []

    def between(builder: BlockBuilder) -> None:
        builder.begin_dataflow_block()
        builder.emit(RELAX.exp(Constant([1.0])))
        made.append(builder.end_block())

    function = build(between)["main"]
    assert isinstance(function, Function)
    assert isinstance(made[0], DataflowBlock)
    assert len(made[0].bindings) == 1
    assert [len(block.bindings) for block in function.body.blocks] == [1]
