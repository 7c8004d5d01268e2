"""The statements of TIR as lines of TVMScript: scopes, loops, blocks, and what they define."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.print_style import syntax_is_plain
from baton._src.ir.traverse import post_order
from baton._src.support.trampoline import Task
from baton._src.tir import operators
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import BufferLoad, IntImm, SizeVar, Var
from baton._src.tir.stmt import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    BlockRealize,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    MatchBufferRegion,
    SeqStmt,
    Stmt,
    While,
)
from baton._src.tir.text.blocks import axis_lines, region_text
from baton._src.tir.text.buffers import buffer_args, declared_in
from baton._src.tir.text.expressions import expression_text, is_plain_call, returned, string_text
from baton._src.tir.text.heads import attr_text, declared_text, memory_text, scope_text, value_text
from baton._src.tir.text.names import Names
from baton._src.tir.thread_axes import launched_axis
from baton._src.values.dtype import BOOL

_LOOPS = {
    ForKind.SERIAL: "T.serial",
    ForKind.PARALLEL: "T.parallel",
    ForKind.VECTORIZED: "T.vectorized",
    ForKind.UNROLLED: "T.unroll",
}


class StatementPrinter:
    """The lines written so far, and what is in scope for the next one."""

    def __init__(self) -> None:
        self.names = Names()
        self.plain = syntax_is_plain()
        self.lines: list[str] = []
        self.indent = ""
        self.loops: dict[Any, For] = {}
        """Loop variables in scope, for `T.axis.remap`."""
        self.marked: frozenset[Stmt] = frozenset()
        """Loops and blocks to underline, for messages."""
        self.waiting: dict[Any, list[Buffer]] = {}
        """Buffers nobody declares, by each variable that they need: their pointer, and what loops, lets and blocks
        define of their shape and place. They are declared where the last of these is defined."""
        self.needs: dict[Buffer, set[Any]] = {}
        """What of that is not defined yet."""

    def expr(self, node: Node) -> str:
        return expression_text(node, self.names)

    def line(self, content: str) -> None:
        self.lines.append(self.indent + content)

    def underline(self, node: Stmt) -> None:
        """Carets under the line just written, if its statement is marked."""
        if node in self.marked:
            self.line("^" * (len(self.lines[-1]) - len(self.indent)))

    def underline_in_grid(self, nest: list[For]) -> None:
        """Carets under the names of marked loops in the line just written, `for i, j in T.grid(...)`."""
        names = [self.names.of(loop.loop_var) for loop in nest]
        carets = [("^" if loop in self.marked else " ") * len(name) for loop, name in zip(nest, names)]
        if self.marked.intersection(nest):
            self.line("    " + "  ".join(carets).rstrip())

    def value(self, content: Any) -> str:
        """An attribute or annotation as a Python literal."""
        return value_text(content, self.names)

    def define(self, buffer: Buffer) -> None:
        """Name a buffer; its pointer is `name.data` from here on."""
        name = self.names.of(buffer)
        self.names.set(buffer.data, f"{name}.data")

    def declare_waiting(self, *defined: Any) -> None:
        """Declare the buffers that only waited for these variables to be defined."""
        for var in defined:
            for buffer in self.waiting.pop(var, ()):
                self.needs[buffer].discard(var)
                if self.needs[buffer]:
                    continue
                dims, options = buffer_args(buffer, self.expr, with_dtype=True)
                shown = ", ".join([dims, *options, f"data={self.expr(buffer.data)}"])
                self.line(f"{self.names.of(buffer)} = T.Buffer({shown})")

    def declare_inside(self, *defined: Any) -> None:
        """The same, one level deeper: at the beginning of a body that is not written yet."""
        outer, self.indent = self.indent, self.indent + "    "
        self.declare_waiting(*defined)
        self.indent = outer

    # ----------------------------------------------------------------------------------------- statements

    def nested(self, node: Stmt) -> Task[None]:
        """A body one level deeper."""
        outer, self.indent = self.indent, self.indent + "    "
        with self.names.scope():
            yield self.body(node)
        self.indent = outer

    def body(self, node: Stmt) -> Task[None]:
        """Statements at the present indentation; what comes after a let, allocation, ... at the end stays flat."""
        current: Stmt | None = node
        while current is not None:
            if isinstance(current, SeqStmt):
                for part in current.seq[:-1]:
                    yield self._statement(part)
                current = current.seq[-1] if current.seq else None
                if current is None or isinstance(current, SeqStmt):
                    # A sequence in a sequence keeps its shape only when it is written as a scope.
                    yield self._statement(current or Evaluate(IntImm("int32", 0)))
                    return
            tail = self._flat(current)
            if tail is None:
                yield self._statement(current)
                return
            current = tail

    def _flat(self, node: Stmt) -> Stmt | None:
        """Write a statement whose body goes on in the same scope, and return that body; None for other statements."""
        match node:
            case LetStmt():
                self.line(f"{self.names.of(node.var)}: {_annotation(node.var)} = {self.expr(node.value)}")
                self.declare_waiting(*declared_in(node))
            case AttrStmt():
                launched = launched_axis(node)
                place = f"{self.names.of(launched.var)} = " if launched is not None else ""
                self.line(f"{place}{attr_text(node, self.names)}")
                self.declare_waiting(*declared_in(node))
            case AssertStmt():
                self.line(f"assert {self.expr(node.condition)}, {self.expr(node.message)}")
            case Allocate() | AllocateConst():
                self.line(f"{self.names.of(node.buffer_var)} = {memory_text(node, self.names)}")
                self.declare_waiting(*declared_in(node))
            case DeclBuffer():
                self.line(f"{self.names.of(node.buffer)} = {declared_text(node.buffer, self.names)}")
            case _:
                return None
        found: Stmt = node.body
        return found

    def _evaluated(self, value: PrimExpr) -> str:
        """An expression for its effect: `return x`, the call of an intrinsic by itself, else `T.evaluate(x)`."""
        if not is_plain_call(value):
            return f"T.evaluate({self.expr(value)})"
        given = returned(value)
        return self.expr(value) if given is None else f"return {self.expr(given)}"

    def _statement(self, node: Stmt) -> Task[None]:
        with self.names.scope():
            yield self._scope_of(node)

    def _scope_of(self, node: Stmt) -> Task[None]:
        """A statement that opens a scope, or a single line."""
        match node:
            case BufferStore():
                place = BufferLoad(node.buffer, node.indices)
                self.line(f"{self.expr(place)} = {self.expr(node.value)}")
            case Evaluate():
                self.line(self._evaluated(node.value))
            case For():
                yield self._for(node)
            case BlockRealize():
                yield self._block(node)
            case IfThenElse():
                yield self._if(node)
            case While():
                self.line(f"while {self.expr(node.condition)}:")
                yield self.nested(node.body)
            case SeqStmt():
                self.line("with T.seq():")
                yield self.nested(node)
            case LetStmt() | AttrStmt() | AssertStmt() | Allocate() | AllocateConst() | DeclBuffer():
                self.line(scope_text(node, self.names))
                self.declare_inside(*declared_in(node))
                yield self.nested(node.body)
            case _:
                self.line(f"# {type(node).__name__}")

    def alloc_buffer(self, buffer: Buffer) -> None:
        """The line of a buffer that a block allocates."""
        self.define(buffer)
        dims, options = buffer_args(buffer, self.expr)
        self.line(f"{self.names.of(buffer)} = T.alloc_buffer({', '.join([dims, *options])})")
        self.declare_waiting(buffer.data)

    def _if(self, node: IfThenElse) -> Task[None]:
        word = "if"
        current: Stmt | None = node
        while isinstance(current, IfThenElse):
            self.line(f"{word} {self.expr(current.condition)}:")
            yield self.nested(current.then_case)
            current, word = current.else_case, "elif"
        if current is not None:
            self.line("else:")
            yield self.nested(current)

    # ---------------------------------------------------------------------------------------------- loops

    def _for(self, node: For) -> Task[None]:
        nest = [node] if self.plain else _grid(node)
        for loop in nest:
            self.loops[loop.loop_var] = loop
        if len(nest) > 1:
            extents = ", ".join(self.expr(loop.extent) for loop in nest)
            shown = ", ".join(self.names.of(loop.loop_var) for loop in nest)
            self.line(f"for {shown} in T.grid({extents}):")
            self.underline_in_grid(nest)
        else:
            bounds = self._bounds(node)
            self.line(f"for {self.names.of(node.loop_var)} in {self._iterator(node, bounds)}:")
            self.underline(node)
        self.declare_inside(*(loop.loop_var for loop in nest))
        yield self.nested(nest[-1].body)

    def _bounds(self, node: For) -> str:
        if operators.is_const(node.min, 0):
            return self.expr(node.extent)
        return f"{self.expr(node.min)}, {self.expr(operators.add(node.min, node.extent))}"

    def _iterator(self, node: For, bounds: str) -> str:
        if node.kind is ForKind.SERIAL and not node.annotations:
            return f"range({bounds})"
        options = f", annotations={self.value(node.annotations)}" if node.annotations else ""
        if node.kind is ForKind.THREAD_BINDING:
            assert node.thread_binding is not None
            return f'T.thread_binding({bounds}, thread="{node.thread_binding.var.name}"{options})'
        return f"{_LOOPS[node.kind]}({bounds}{options})"

    # --------------------------------------------------------------------------------------------- blocks

    def _block(self, node: BlockRealize) -> Task[None]:
        block = node.block
        self.line(f"with T.block({string_text(block.name_hint)}):")
        self.underline(block)
        outer, self.indent = self.indent, self.indent + "    "
        for line in axis_lines(node, {} if self.plain else self.loops, self.names):
            self.line(line)
        if not (isinstance(node.predicate, IntImm) and node.predicate.dtype == BOOL and node.predicate.value):
            self.line(f"T.where({self.expr(node.predicate)})")
        for word, regions in (("reads", block.reads), ("writes", block.writes)):
            self.line(f"T.{word}({', '.join(region_text(r, self.names) for r in regions)})")
        if block.annotations:
            self.line(f"T.block_attr({self.value(block.annotations)})")
        for buffer in block.alloc_buffers:
            self.alloc_buffer(buffer)
        for match in block.match_buffers:
            self._match_buffer(match)
        self.declare_waiting(*declared_in(block))
        if block.init is not None:
            self.line("with T.init():")
            yield self.nested(block.init)
        yield self.body(block.body)
        self.indent = outer

    def _match_buffer(self, match: MatchBufferRegion) -> None:
        buffer = match.buffer
        offset = () if buffer.elem_offset is None else (buffer.elem_offset,)
        for dim in (*buffer.shape, *buffer.strides, *offset):
            if isinstance(dim, Var) and not self.names.knows(dim):
                self.line(f"{self.names.of(dim)} = T.{dim.dtype}()")
        self.define(buffer)
        dims, options = buffer_args(buffer, self.expr)
        shown = ", ".join([region_text(match.source, self.names), dims, *options])
        self.line(f"{self.names.of(buffer)} = T.match_buffer({shown})")


def _annotation(var: Var) -> str:
    """The kind of a name that stands for a value."""
    if var.pointee:
        return f'T.handle("{var.pointee}", "{var.scope or "global"}")'
    return f'T.SizeVar("{var.name}", "{var.dtype}")' if isinstance(var, SizeVar) else f"T.{var.dtype}"


def _grid(node: For) -> list[For]:
    """The nest of plain loops from 0 that `T.grid` can say: no extent names an outer variable of the nest."""
    nest = [node]
    own = {node.loop_var}
    while _is_plain(nest[-1]) and isinstance(nest[-1].body, For) and _is_plain(nest[-1].body):
        inner = nest[-1].body
        if any(n in own for n in post_order(inner.extent)):
            break
        nest.append(inner)
        own.add(inner.loop_var)
    return nest


def _is_plain(node: For) -> bool:
    return node.kind is ForKind.SERIAL and not node.annotations and operators.is_const(node.min, 0)
