"""TIR as TVMScript in the style of v0.19. `parser` reads it back, structurally equal.

    script(func)                        # a whole PrimFunc, with its decorator
    prim_func_lines(func, "main")       # the same as lines, for modules
    node_text(node)                     # any statement or expression: what `repr` shows

Linear in the size of the program and without recursion.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.print_style import definitions_are_shown
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import children, post_order
from baton._src.support.trampoline import Task, run
from baton._src.tir import operators
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.expr import BufferLoad, CommReducer, IntImm, IterVar, SizeVar, Var
from baton._src.tir.index_map import IndexMap, index_map_text
from baton._src.tir.kernel_abi import implicit_shape_vars
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Block, BlockRealize, BufferStore, DeclBuffer, For, Stmt
from baton._src.tir.text.blocks import region_text
from baton._src.tir.text.buffers import buffer_args, declared_in, is_default_param
from baton._src.tir.text.expressions import expression_text, reducer_text
from baton._src.tir.text.statements import StatementPrinter
from baton._src.values.dtype import BOOL, HANDLE

_HEADER = "# from tvm.script import tir as T"


def script(func: PrimFunc, name: str | None = None) -> str:
    """The text of a PrimFunc."""
    return "\n".join([_HEADER, "", *prim_func_lines(func, name or str(func.attrs.get("global_symbol", "main")))])


def marked_script(func: PrimFunc, name: str, marked: Iterable[Stmt]) -> str:
    """The text of a PrimFunc with loops and blocks underlined: for people, it is not read back."""
    printer = _FunctionPrinter()
    printer.marked = frozenset(marked)
    return "\n".join(printer.prim_func(func, name))


def prim_func_lines(func: PrimFunc, name: str) -> list[str]:
    """The lines of a PrimFunc called `name`, decorator first. A `global_symbol` equal to the name is left out."""
    return _FunctionPrinter().prim_func(func, name)


def node_text(node: Node) -> str:
    """Any node of TIR as text, names as they are hinted; if asked for, definitions of what it uses come first."""
    if isinstance(node, PrimFunc):
        return script(node)
    printer = StatementPrinter()
    text = _part_text(node, printer)
    return "\n".join([*_definitions(node, printer), text]) if definitions_are_shown() else text


def _definitions(node: Node, printer: StatementPrinter) -> list[str]:
    """A line for each variable and buffer that the node uses and does not define, in the order they are written."""
    order = post_order(node)
    own: set[Any] = {owner for n in order for owner in (*declared_in(n), *_own_buffers(n))}
    own |= {n.data for n in order if isinstance(n, Buffer)} - {node}
    places = {owner: place for place, owner in enumerate(printer.names.owners)}
    used = sorted((n for n in order if isinstance(n, (Var, Buffer))), key=lambda n: places.get(n, len(places)))
    found: dict[Any, str] = {}
    for owner in used:
        for part in [*post_order(owner), owner]:  # what the dims of a buffer mention comes first
            if isinstance(part, (Var, Buffer)) and part not in own and part not in found:
                found[part] = f"{printer.names.of(part)} = {_made(part, printer)}"
    return list(found.values())


def _made(owner: Var | Buffer, printer: StatementPrinter) -> str:
    """How a script makes a variable or buffer."""
    if isinstance(owner, Buffer):
        dims, options = buffer_args(owner, printer.expr)
        return f"T.Buffer({', '.join([dims, *options])})"
    return f"T.{owner.dtype}({'is_size_var=True' if isinstance(owner, SizeVar) else ''})"


def _own_buffers(node: Node) -> list[Buffer]:
    """The buffers that a statement defines."""
    match node:
        case DeclBuffer():
            return [node.buffer]
        case Block():
            return [*node.alloc_buffers, *(m.buffer for m in node.match_buffers)]
        case _:
            return []


def _part_text(node: Node, printer: StatementPrinter) -> str:
    match node:
        case Stmt():
            if isinstance(node, Block):
                node = BlockRealize(tuple(axis.var for axis in node.iter_vars), IntImm(BOOL, 1), node)
            run(printer.body(node))
            return "\n".join(printer.lines)
        case PrimExpr():
            return expression_text(node, printer.names)
        case Buffer():
            return printer.names.of(node)
        case BufferRegion():
            return region_text(node, printer.names)
        case Range():
            return f"I.Range({printer.expr(node.min)}, {printer.expr(operators.add(node.min, node.extent))})"
        case IterVar():
            dom = "None" if node.dom is None else node_text(node.dom)
            return f'T.iter_var({printer.names.of(node.var)}, {dom}, "{node.kind_name}", "{node.thread_tag}")'
        case CommReducer():
            return reducer_text(node, printer.names)
        case IndexMap():
            return index_map_text(node, node_text)
        case _:
            return f"<{type(node).__name__}>"


class _FunctionPrinter(StatementPrinter):
    """A whole PrimFunc: its signature, what it defines before the body, the body."""

    def prim_func(self, func: PrimFunc, name: str) -> list[str]:
        symbol = func.attrs.get("global_symbol")
        self.line("@T.prim_func" if symbol is not None else "@T.prim_func(private=True)")
        inline = set() if self.plain else self._inline_params(func)
        params = ", ".join(self._param(func, p, p in inline) for p in func.params)
        returns = f" -> {_type_text(func.ret_type)}" if func.ret_type is not None else ""
        self.line(f"def {name}({params}){returns}:")
        self.indent = "    "
        attrs = {k: v for k, v in func.attrs.items() if k != "global_symbol" or v != name}
        if attrs:
            self.line(f"T.func_attr({self.value(attrs)})")
        for var in self._free_vars(func):
            size = "is_size_var=True" if isinstance(var, SizeVar) else ""
            self.line(f"{self.names.of(var)} = T.{var.dtype}({size})")
        for param in func.params:
            buffer = func.buffer_map.get(param)
            if buffer is not None and param not in inline:
                self.define(buffer)
                dims, options = buffer_args(buffer, self.expr)
                shown = ", ".join([self.names.of(param), dims, *options])
                self.line(f"{self.names.of(buffer)} = T.match_buffer({shown})")
        self._find_undeclared(func)
        for pointer in (*func.params, *(buffer.data for buffer in func.buffer_map.values())):
            self.declare_waiting(pointer)
        run(self._function_body(func.body))
        return self.lines

    def _inline_params(self, func: PrimFunc) -> set[Any]:
        """Params whose buffer is written in the signature: plain buffers of constant shape."""
        counts: dict[Any, int] = {}
        for buffer in func.buffer_map.values():
            counts[buffer.data] = counts.get(buffer.data, 0) + 1
        return {p for p, b in func.buffer_map.items() if is_default_param(b) and counts[b.data] == 1}

    def _param(self, func: PrimFunc, param: Var, inline: bool) -> str:
        if not inline:
            kind = f"T.{param.dtype}"
            if param.pointee is not None:
                kind = f'T.handle("{param.pointee}", "{param.scope or "global"}")'
            return f"{self.names.of(param)}: {kind}"
        buffer = func.buffer_map[param]
        self.define(buffer)
        dims, options = buffer_args(buffer, self.expr, with_dtype=True)
        return f"{self.names.of(buffer)}: T.Buffer({', '.join([dims, *options])})"

    def _free_vars(self, func: PrimFunc) -> list[Var]:
        """Variables that nothing in the function defines: shape variables first."""
        found = dict.fromkeys(implicit_shape_vars(func))
        defined: set[Any] = set(func.params) | {b.data for b in func.buffer_map.values()}
        uses: list[Var] = []
        order = post_order(func.body)
        threads = {item.thread_binding for item in order if isinstance(item, For)}  # their loops' lines name them
        for item in order:
            uses += [] if item in threads else [n for n in children(item) if isinstance(n, Var)]
            defined.update(declared_in(item))
        found.update(dict.fromkeys(v for v in uses if v not in defined))
        return [v for v in found if v.dtype != HANDLE]

    def _find_undeclared(self, root: PrimFunc) -> None:
        declared: set[Any] = set(root.buffer_map.values())
        used: dict[Buffer, None] = {}
        inside: set[Any] = set()
        for item in post_order(root.body):
            inside.update(declared_in(item))
            match item:
                case BufferLoad() | BufferStore():
                    used[item.buffer] = None
                case Block():
                    declared.update(item.alloc_buffers)
                    declared.update(m.buffer for m in item.match_buffers)
                case DeclBuffer():
                    declared.add(item.buffer)
                case _:
                    pass
        for buffer in used:
            if buffer not in declared:
                offset = () if buffer.elem_offset is None else (buffer.elem_offset,)
                dims = {n for e in (*buffer.shape, *buffer.strides, *offset) for n in post_order(e)}
                self.needs[buffer] = {buffer.data, *(dims & inside)}
                for var in self.needs[buffer]:
                    self.waiting.setdefault(var, []).append(buffer)

    def _function_body(self, body: Stmt) -> Task[None]:
        if _is_plain_root(body) and not self.plain:
            assert isinstance(body, BlockRealize)
            self.line('# with T.block("root"):')
            self.underline(body.block)
            for buffer in body.block.alloc_buffers:
                self.alloc_buffer(buffer)
            yield self.body(body.block.body)
        else:
            yield self.body(body)


def _is_plain_root(body: Stmt) -> bool:
    """Whether the parser would put this root block around the body by itself."""
    if not isinstance(body, BlockRealize) or body.block.name_hint != "root":
        return False
    block = body.block
    parts = (block.iter_vars, block.reads, block.writes, block.match_buffers, block.annotations, block.init)
    if any(parts) or not structural_equal(body.predicate, IntImm(BOOL, 1)):
        return False
    return bool(block.alloc_buffers) or any(isinstance(n, Block) for n in post_order(block.body))


def _type_text(kind: Any) -> str:
    dtype = getattr(kind, "dtype", None)
    return f"T.{dtype}" if dtype is not None else "None"
