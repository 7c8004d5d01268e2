"""What the line of a let, an attribute, an assertion or memory says.

    T.attr(x, "pragma", 1)        with T.allocate([8], "float32", "global") as p:

Each is written flat, with its body after it, or as a scope around its body.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.target import Target
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import CommReducer, IntImm, IterVar
from baton._src.tir.stmt import Allocate, AllocateConst, AssertStmt, AttrStmt, DeclBuffer, LetStmt
from baton._src.tir.text.buffers import buffer_args
from baton._src.tir.text.expressions import expression_text, number_text, reducer_text, string_text
from baton._src.tir.text.names import Names
from baton._src.tir.thread_axes import launched_axis


def scope_text(node: Node, names: Names) -> str:
    """The line that opens the scope of a statement."""
    match node:
        case LetStmt():
            kind = f', dtype="{node.var.dtype}"' if node.var.dtype != node.value.dtype else ""
            return f"with T.LetStmt({expression_text(node.value, names)}{kind}) as {names.of(node.var)}:"
        case AttrStmt():
            launched = launched_axis(node)
            given = f" as {names.of(launched.var)}" if launched is not None else ""
            return f"with {attr_text(node, names)}{given}:"
        case AssertStmt():
            return f"with T.Assert({expression_text(node.condition, names)}, {expression_text(node.message, names)}):"
        case Allocate() | AllocateConst():
            return f"with {memory_text(node, names)} as {names.of(node.buffer_var)}:"
        case DeclBuffer():
            return f"with {declared_text(node.buffer, names)} as {names.of(node.buffer)}:"
        case _:
            return "with T.seq():"


def attr_text(node: AttrStmt, names: Names) -> str:
    """`T.attr(...)`, or the start of a thread axis."""
    owner = node.node
    if launched_axis(node) is not None:
        return f'T.launch_thread("{owner.thread_tag}", {expression_text(node.value, names)})'
    if isinstance(owner, Buffer):
        shown = names.of(owner)
    elif isinstance(owner, IterVar):
        ends = () if owner.dom is None else (owner.dom.min, owner.dom.extent)
        dom = f"({', '.join(expression_text(e, names) for e in ends)})" if ends else "None"
        shown = f'T.iter_var({names.of(owner.var)}, {dom}, "{owner.kind_name}", "{owner.thread_tag}")'
    else:
        shown = value_text(owner, names)
    return f'T.attr({shown}, "{node.attr_key}", {expression_text(node.value, names)})'


def memory_text(node: Allocate | AllocateConst, names: Names) -> str:
    """`T.allocate(...)` or `T.allocate_const(...)`."""
    extents = ", ".join(expression_text(e, names) for e in node.extents)
    if isinstance(node, AllocateConst):
        numbers = ", ".join(number_text(n, node.dtype) for n in node.data.numpy().reshape(-1).tolist())
        options = f", annotations={value_text(node.annotations, names)}" if node.annotations else ""
        return f'T.allocate_const([{numbers}], "{node.dtype}", [{extents}]{options})'
    shown = [f"[{extents}]", f'"{node.dtype}"', f'"{node.buffer_var.scope or "global"}"']
    if not (node.condition is None or (isinstance(node.condition, IntImm) and node.condition.value)):
        shown.append(f"condition={expression_text(node.condition, names)}")
    if node.annotations:
        shown.append(f"annotations={value_text(node.annotations, names)}")
    return f"T.allocate({', '.join(shown)})"


def declared_text(buffer: Buffer, names: Names) -> str:
    """`T.decl_buffer(...)` of memory that is there."""
    dims, options = buffer_args(buffer, lambda node: expression_text(node, names))
    pointer = f"data={expression_text(buffer.data, names)}"
    return f"T.decl_buffer({', '.join([dims, *options, pointer])})"


def value_text(content: Any, names: Names) -> str:
    """An attribute or annotation as a Python literal."""
    if isinstance(content, PrimExpr):
        return expression_text(content, names)
    if isinstance(content, bool) or content is None:
        return f"T.bool({content})" if content is not None else "None"
    if isinstance(content, str):
        return string_text(content)
    if isinstance(content, Target):
        return f"T.target({value_text(content.export(), names)})"
    if isinstance(content, CommReducer):
        return reducer_text(content, names)
    if isinstance(content, dict):
        return "{" + ", ".join(f"{string_text(k)}: {value_text(v, names)}" for k, v in content.items()) + "}"
    if isinstance(content, (list, tuple)):
        return "[" + ", ".join(value_text(v, names) for v in content) + "]"
    return repr(content)
