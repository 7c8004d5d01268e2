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

Inside of a dataflow block every variable is a DataflowVar; `output_vars` of the block, once it is closed, are the
variables that its outputs have become. Of a branch, the last variable is the value, and both branches name it alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import substitute
from baton._src.relax import nodes
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.frames import Frame
from baton._src.relax.literals import as_expr
from baton._src.relax.nodes import Binding, DataflowVar, Function, SeqExpr, Var, VarBinding
from baton._src.relax.struct_info import StructInfo
from baton._src.script.ir_builder.base import IRBuilder, IRBuilderFrame
from baton._src.script.ir_builder.module_frames import IRModuleFrame
from baton._src.support.diagnostics import fail


class RelaxFrame(IRBuilderFrame):
    """A scope of a Relax function."""


class SeqExprFrame(RelaxFrame):
    """Collects bindings: a function or a branch."""

    def __init__(self) -> None:
        super().__init__()
        self.output: Any = None

    def begin(self) -> None:
        """Collect what is bound from here on."""
        _builder().normalizer.frames.append(Frame())

    def finish(self) -> tuple[Any, ...]:
        """The blocks of what was bound."""
        return _builder().normalizer.frames.pop().finish()


class FunctionFrame(SeqExprFrame):
    """A function: what it is called, takes, says of itself, and gives."""

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
        self.begin()
        return self

    def close(self, builder: IRBuilder) -> None:
        blocks = self.block_builder.normalizer.frames.pop().finish()
        if self.output is None:
            raise fail("ir-builder", "the function gives nothing", help="end it: R.func_ret_value(value)")
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
            raise fail("ir-builder", "R.dataflow belongs directly into a function or a branch")

    def entered(self) -> BlockFrame:
        _builder().begin_dataflow_block()
        return self

    def close(self, builder: IRBuilder) -> None:
        made = _builder().end_block()
        renamed: dict[Any, Any] = {v: Var(v.name_hint, v.struct_info_, v.span) for v in self.output_vars}
        frame = _builder().normalizer.frame
        frame.dataflow = True
        for binding in made.bindings:
            _builder().emit_normalized(_with_outputs(binding, renamed))
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
            raise fail("ir-builder", "an If cannot stand inside a dataflow block")

    def close(self, builder: IRBuilder) -> None:
        if len(self.branches) != 2:
            raise fail("ir-builder", "R.If needs both of its branches: with R.Then(): ..., with R.Else(): ...")
        if self.names[0] != self.names[1]:
            raise fail("ir-builder", f"the branches end with different names: {self.names[0]} and {self.names[1]}")
        self.var = _builder().emit(nodes.If(self.condition, *self.branches), self.names[0])


class BranchFrame(SeqExprFrame):
    """One branch; `number` is its place."""

    number: ClassVar[int]

    def open(self, builder: IRBuilder) -> None:
        around = builder.frames[-1] if builder.frames else None
        if not isinstance(around, IfFrame) or len(around.branches) != self.number:
            word = ("R.Then", "R.Else")[self.number]
            raise fail("ir-builder", f"{word} belongs once into `with R.If(condition):`, R.Then before R.Else")

    def entered(self) -> BranchFrame:
        self.begin()
        return self

    def close(self, builder: IRBuilder) -> None:
        blocks = self.finish()
        last = blocks[-1].bindings[-1].var if blocks else None
        if last is None or isinstance(last, DataflowVar):
            raise fail("ir-builder", "a branch ends by binding its value", help="end it: R.emit(value)")
        around = builder.frames[-1]
        assert isinstance(around, IfFrame)
        around.branches.append(SeqExpr(blocks, last))
        around.names.append(last.name_hint)


class ThenFrame(BranchFrame):
    """What is done if the condition holds."""

    number = 0


class ElseFrame(BranchFrame):
    """What is done if it does not."""

    number = 1


# ----------------------------------------------------------------------------------------------------------- words


def _function(word: str) -> FunctionFrame:
    found = IRBuilder.current().innermost(FunctionFrame)
    if found is None:
        raise fail("ir-builder", f"R.{word} belongs into a function: with R.function():")
    return found


def _builder() -> BlockBuilder:
    return _function("emit").block_builder


def function(is_pure: bool = True, is_private: bool = False) -> FunctionFrame:
    """The frame of a function."""
    return FunctionFrame(is_pure, is_private)


def arg(name: str, struct_info: StructInfo) -> Var:
    """A parameter of the function."""
    held = _function("arg")
    var = Var(name, struct_info)
    held.params.append(var)
    held.block_builder.normalizer.shapes.define_params((var,))
    return var


def func_name(name: str) -> None:
    """What the function is called."""
    held = _function("func_name")
    if held.name is not None:
        raise fail("ir-builder", f"the function is named {held.name} already")
    held.name = name


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Attributes of the function."""
    held = _function("func_attr")
    for key, value in attrs.items():
        if key in held.attrs:
            raise fail("ir-builder", f"the function has the attribute {key} already")
        held.attrs[key] = value


def func_ret_struct_info(ret_sinfo: StructInfo) -> None:
    """What the function says it gives."""
    held = _function("func_ret_struct_info")
    if held.ret_struct_info is not None:
        raise fail("ir-builder", "what the function gives is said twice")
    held.ret_struct_info = ret_sinfo


def func_ret_value(value: Any) -> None:
    """What the function gives."""
    held = _function("func_ret_value")
    if held.output is not None:
        raise fail("ir-builder", "a function returns once")
    held.output = held.block_builder.normalizer.atom(as_expr(value))


def dataflow() -> BlockFrame:
    """The frame of a dataflow block."""
    return BlockFrame()


def output(*vars: Var) -> None:
    """The variables of the dataflow block that are seen behind it; the last word in it."""
    frames = IRBuilder.current().frames
    held = frames[-1] if frames else None
    if not isinstance(held, BlockFrame) or held.ended:
        raise fail("ir-builder", "R.output ends a dataflow block, once")
    own = {b.var for _, bindings, _ in _builder().normalizer.frame.blocks for b in bindings}
    for var in vars:
        if var not in own:
            raise fail("ir-builder", f"{var.name_hint} is no variable of this dataflow block")
    held.ended = True
    held.output_vars = list(vars)


def emit(value: Any, annotate_struct_info: StructInfo | None = None) -> Var:
    """Bind a value."""
    _check_open()
    if annotate_struct_info is None:
        return _builder().emit(value)
    normalizer = _builder().normalizer
    found = normalizer.expression(as_expr(value))
    var = normalizer.fresh_var(annotate_struct_info)
    normalizer.add_binding(VarBinding(var, found))
    return var


def emit_match_cast(value: Any, struct_info: StructInfo) -> Var:
    """Bind a value that is checked."""
    _check_open()
    return _builder().match_cast(value, struct_info)


def emit_var_binding(value: VarBinding) -> Var:
    """A binding as it is."""
    _check_open()
    _builder().emit_normalized(value)
    var: Var = value.var
    return var


def _check_open() -> None:
    frames = IRBuilder.current().frames
    if frames and isinstance(frames[-1], BlockFrame) and frames[-1].ended:
        raise fail("ir-builder", "nothing can follow R.output in a dataflow block")


def If(condition: Any) -> IfFrame:
    """The frame of a conditional."""
    return IfFrame(condition)


def Then() -> ThenFrame:
    """The frame of its first branch."""
    return ThenFrame()


def Else() -> ElseFrame:
    """The frame of its second branch."""
    return ElseFrame()


BUILDER_WORDS: dict[str, Any] = {
    word.__name__: word
    for word in (
        *(function, arg, func_name, func_attr, func_ret_struct_info, func_ret_value, dataflow, output),
        *(emit, emit_match_cast, emit_var_binding, If, Then, Else),
    )
}
"""What `R` holds under a builder, beside the operators."""
