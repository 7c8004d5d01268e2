"""The functions of `R` under a builder: parameters, bindings, blocks, branches. Their frames are in `relax_frames`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.relax.literals import as_expr
from baton._src.relax.nodes import Var, VarBinding
from baton._src.relax.struct_info import StructInfo
from baton._src.script.ir_builder.base import IRBuilder
from baton._src.script.ir_builder.relax_frames import (
    BlockFrame,
    ElseFrame,
    FunctionFrame,
    IfFrame,
    ThenFrame,
    current_builder,
    current_function,
)
from baton._src.support.diagnostics import fail


def function(is_pure: bool = True, is_private: bool = False) -> FunctionFrame:
    """The frame of a function."""
    return FunctionFrame(is_pure, is_private)


def arg(name: str, struct_info: StructInfo) -> Var:
    """A parameter of the function."""
    held = current_function("arg")
    var = Var(name, struct_info)
    held.params.append(var)
    held.block_builder.normalizer.shapes.define_params((var,))
    return var


def func_name(name: str) -> None:
    """Set the function's name."""
    held = current_function("func_name")
    if held.name is not None:
        raise fail("ir-builder", f"the function is named {held.name} already")
    held.name = name


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Attributes of the function."""
    held = current_function("func_attr")
    for key, value in attrs.items():
        if key in held.attrs:
            raise fail("ir-builder", f"the function has the attribute {key} already")
        held.attrs[key] = value


def func_ret_struct_info(ret_sinfo: StructInfo) -> None:
    """Declare the function's result."""
    held = current_function("func_ret_struct_info")
    if held.ret_struct_info is not None:
        raise fail("ir-builder", "the result of the function is declared twice")
    held.ret_struct_info = ret_sinfo


def func_ret_value(value: Any) -> None:
    """Set the function's result."""
    held = current_function("func_ret_value")
    if held.output is not None:
        raise fail("ir-builder", "a function returns once")
    held.output = held.block_builder.normalizer.atom(as_expr(value))


def dataflow() -> BlockFrame:
    """The frame of a dataflow block."""
    return BlockFrame()


def output(*vars: Var) -> None:
    """The outputs of the dataflow block, visible after it; must be the last call in it."""
    frames = IRBuilder.current().frames
    held = frames[-1] if frames else None
    if not isinstance(held, BlockFrame) or held.ended:
        raise fail("ir-builder", "R.output ends a dataflow block, once")
    own = {b.var for _, bindings, _ in current_builder().normalizer.frame.blocks for b in bindings}
    for var in vars:
        if var not in own:
            raise fail("ir-builder", f"{var.name_hint} is not a variable of this dataflow block")
    held.ended = True
    held.output_vars = list(vars)


def emit(value: Any, annotate_struct_info: StructInfo | None = None) -> Var:
    """Bind a value."""
    _check_open()
    if annotate_struct_info is None:
        return current_builder().emit(value)
    normalizer = current_builder().normalizer
    found = normalizer.expression(as_expr(value))
    var = normalizer.fresh_var(annotate_struct_info)
    normalizer.add_binding(VarBinding(var, found))
    return var


def emit_match_cast(value: Any, struct_info: StructInfo) -> Var:
    """Bind a value that is checked."""
    _check_open()
    return current_builder().match_cast(value, struct_info)


def emit_var_binding(value: VarBinding) -> Var:
    """Append a binding unchanged."""
    _check_open()
    current_builder().emit_normalized(value)
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
"""What `R` holds under a builder, besides the operators."""
