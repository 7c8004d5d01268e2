"""Relax functions under a builder.

    with IRBuilder() as builder:
        with R.function():
            R.func_name("main")
            x = R.arg("x", relax.TensorStructInfo((4,), "float32"))
            with R.dataflow() as block:
                y = R.emit(R.exp(x))
                R.output(y)
            (y,) = block.output_vars
            R.func_ret_value(y)
    function = builder.get()

Inside a dataflow block every variable is a DataflowVar; once the block is closed, its `output_vars` are the variables
that its outputs have become. The value of a branch is its last variable, which has the same name in both branches.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import substitute
from baton._src.relax import nodes
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.frames import Frame
from baton._src.relax.literals import as_expr
from baton._src.relax.nodes import Binding, DataflowVar, Function, SeqExpr, Var
from baton._src.relax.normalize import Normalizer
from baton._src.relax.struct_info import StructInfo
from baton._src.script.ir_builder.base import IRBuilder, IRBuilderFrame
from baton._src.script.ir_builder.module_frames import IRModuleFrame
from baton._src.support.diagnostics import fail


class RelaxFrame(IRBuilderFrame):
    """A scope of a Relax function."""


class SeqExprFrame(RelaxFrame):
    """Collects bindings: a function or a branch. The shape variables that its casts bind end with it."""

    def __init__(self) -> None:
        super().__init__()
        self.output: Any = None
        self._shapes = ExitStack()

    def begin(self, normalizer: Normalizer) -> None:
        """Start collecting bindings."""
        normalizer.frames.append(Frame())
        self._shapes.enter_context(normalizer.shapes.scope())

    def finish(self, normalizer: Normalizer) -> tuple[Any, ...]:
        """The blocks of the collected bindings."""
        self._shapes.close()
        return normalizer.frames.pop().finish()


class FunctionFrame(SeqExprFrame):
    """A function: its name, parameters, attributes and result."""

    def __init__(self, is_pure: bool, is_private: bool) -> None:
        super().__init__()
        self.is_pure, self.is_private = is_pure, is_private
        self.name: str | None = None
        self.params: list[Var] = []
        self.attrs: dict[str, Any] = {}
        self.ret_struct_info: StructInfo | None = None
        self.block_builder = BlockBuilder()

    def open(self, builder: IRBuilder) -> None:
        around = builder.innermost(IRModuleFrame)
        if builder.frames and not isinstance(builder.frames[-1], IRModuleFrame):
            raise fail("ir-builder", "R.function opens a function of a module, or one that stands alone")
        if around is not None:
            known = {v: around.known(n) for n, v in around.global_vars.items() if around.known(n) is not None}
            self.block_builder = BlockBuilder(IRModule(known))

    def entered(self) -> FunctionFrame:
        self.begin(self.block_builder.normalizer)
        return self

    def close(self, builder: IRBuilder) -> None:
        blocks = self.finish(self.block_builder.normalizer)
        if self.output is None:
            raise fail("ir-builder", "the function has no result", help="end it: R.func_ret_value(value)")
        if self.name is not None and not self.is_private:
            self.attrs.setdefault("global_symbol", self.name)
        body = SeqExpr(blocks, self.output)
        function = Function(self.params, body, self.ret_struct_info, self.is_pure, self.attrs)
        function = self.block_builder.normalize(function)
        around = builder.innermost(IRModuleFrame)
        if around is None:
            builder.finish(function)
        elif self.name is None:
            raise fail("ir-builder", "a function of a module needs a name", help='R.func_name("main")')
        else:
            around.define(self.name, function)


class BlockFrame(RelaxFrame):
    """A dataflow block."""

    def __init__(self) -> None:
        super().__init__()
        self.output_vars: list[Var] = []
        self.ended = False

    def open(self, builder: IRBuilder) -> None:
        if not builder.frames or not isinstance(builder.frames[-1], SeqExprFrame):
            raise fail("ir-builder", "R.dataflow belongs directly in a function or a branch")

    def entered(self) -> BlockFrame:
        current_builder().begin_dataflow_block()
        return self

    def close(self, builder: IRBuilder) -> None:
        made = current_builder().end_block()
        renamed: dict[Any, Any] = {v: Var(v.name_hint, v.struct_info_, v.span) for v in self.output_vars}
        frame = current_builder().normalizer.frame
        frame.dataflow = True
        for binding in made.bindings:
            current_builder().emit_normalized(_with_outputs(binding, renamed))
        frame.dataflow = False
        self.output_vars = [renamed[v] for v in self.output_vars]


def _with_outputs(binding: Any, renamed: Mapping[Any, Any]) -> Binding:
    value = substitute(binding.value, renamed, notes=False)
    found: Binding = binding.with_fields(var=renamed.get(binding.var, binding.var), value=value)
    return found


class IfFrame(RelaxFrame):
    """`with R.If(condition): with R.Then(): ... with R.Else(): ...`; `var` is then the value."""

    def __init__(self, condition: Any) -> None:
        super().__init__()
        self.condition = as_expr(condition)
        self.branches: list[Any] = []
        self.names: list[str] = []
        self.var: Any = None

    def open(self, builder: IRBuilder) -> None:
        if builder.innermost(BlockFrame) is not None:
            raise fail("ir-builder", "an If is not allowed inside a dataflow block")

    def close(self, builder: IRBuilder) -> None:
        if len(self.branches) != 2:
            raise fail("ir-builder", "R.If needs both of its branches: with R.Then(): ..., with R.Else(): ...")
        if self.names[0] != self.names[1]:
            raise fail("ir-builder", f"the branches end with different names: {self.names[0]} and {self.names[1]}")
        self.var = current_builder().emit(nodes.If(self.condition, *self.branches), self.names[0])


class BranchFrame(SeqExprFrame):
    """One branch; `number` is its place."""

    number: ClassVar[int]

    def open(self, builder: IRBuilder) -> None:
        around = builder.frames[-1] if builder.frames else None
        if not isinstance(around, IfFrame) or len(around.branches) != self.number:
            word = ("R.Then", "R.Else")[self.number]
            raise fail("ir-builder", f"{word} belongs once in `with R.If(condition):`, R.Then before R.Else")

    def entered(self) -> BranchFrame:
        self.begin(current_builder().normalizer)
        return self

    def close(self, builder: IRBuilder) -> None:
        blocks = self.finish(current_builder().normalizer)
        last = blocks[-1].bindings[-1].var if blocks else None
        if last is None or isinstance(last, DataflowVar):
            raise fail("ir-builder", "a branch ends by binding its value", help="end it: R.emit(value)")
        around = builder.frames[-1]
        assert isinstance(around, IfFrame)
        around.branches.append(SeqExpr(blocks, last))
        around.names.append(last.name_hint)


class ThenFrame(BranchFrame):
    """The branch for a true condition."""

    number = 0


class ElseFrame(BranchFrame):
    """The branch for a false condition."""

    number = 1


def current_function(word: str) -> FunctionFrame:
    """The function being built. Error `ir-builder`: there is none to which `R.word` could belong."""
    found = IRBuilder.current().innermost(FunctionFrame)
    if found is None:
        raise fail("ir-builder", f"R.{word} belongs in a function: with R.function():")
    return found


def current_builder() -> BlockBuilder:
    """The block builder of the function being built."""
    return current_function("emit").block_builder
