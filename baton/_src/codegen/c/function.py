"""One lowered PrimFunc as a function of C: `int32_t name(pointers and scalars)`, in the order of `tir.kernel_abi`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from baton._src.codegen.c.stmt import StmtWriter
from baton._src.codegen.c.text import CFile, Lines
from baton._src.codegen.c.types import c_type
from baton._src.ir.expr import Op
from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order
from baton._src.support.diagnostics import InternalError
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.prim_func import PrimFunc


def write_function(
    file: CFile, name: str, linked: str, func: PrimFunc, callees: Mapping[str, str], exported: bool = False
) -> None:
    """Add `func` (lowered: plain loops, flat buffers, no buffer map) to a file as `linked`; `name` is for messages.
    Unless it is `exported`, only functions of the file can call it."""
    if func.buffer_map:
        raise InternalError(f"code generation: {name} is not lowered (it has a buffer map)")
    text = Lines()
    writer = StmtWriter(file, text, name, callees, frozenset(_read_variables(func.body)))
    writer.e.kinds.update(_pointed_types(func.body))
    file.parameters[linked] = _types(writer, func)
    head = f"{'TVM_DLL' if exported else 'static'} int32_t {linked}({_parameters(writer, func)})"
    writer.emit(func.body)
    if not text.lines or not text.lines[-1].startswith("  return"):
        text.line("return 0;")
    file.prototypes[linked] = f"{head};"
    file.functions.append("\n".join([f"{head} {{", *text.finished(), "}"]))


def _types(writer: StmtWriter, func: PrimFunc) -> list[str]:
    kinds = writer.e.kinds
    return [f"{kinds.get(v, 'void')}*" if v.dtype.kind == "handle" else c_type(v.dtype) for v in func.params]


def _parameters(writer: StmtWriter, func: PrimFunc) -> str:
    """The parameters, named as in TIR; pointers to memory that no other pointer accesses are `restrict`."""
    apart = bool(func.attrs.get("tir.noalias", False))
    shared = {func.params[place] for pair in func.attrs.get("tir.overwrites", ()) for place in pair}
    found = []
    for var, kind in zip(func.params, _types(writer, func)):
        name = writer.e.env[var] = writer.t.name(var.name)
        restrict = " BATON_RESTRICT" if apart and var.dtype.kind == "handle" and var not in shared else ""
        found.append(f"{kind}{restrict} {name}")
    return ", ".join(found) or "void"


def _read_variables(body: st.Stmt) -> Iterable[tir.Var]:
    """The variables that are read somewhere."""
    for node in post_order(body, below=_used):
        if isinstance(node, tir.Var):
            yield node
        elif isinstance(node, (tir.BufferLoad, st.BufferStore)):
            yield node.buffer.data


def _used(node: Node) -> Iterable[Node]:
    """What is below a node, without the variables and buffers that it defines or describes."""
    match node:
        case st.LetStmt(value=value, body=body) | tir.Let(value=value, body=body):
            return (value, body)
        case st.For(min=first, extent=extent, body=body):
            return (first, extent, body)
        case st.Allocate(extents=extents, body=body):
            return (*extents, body)
        case st.Evaluate(value=tir.Call(op=Op(name="tir.prefetch" | "tir.assume"))):
            return ()
        case st.DeclBuffer(body=body) | st.AttrStmt(body=body):
            return (body,)
        case st.BufferStore(value=value, indices=indices):
            return (value, *indices)
        case tir.BufferLoad(indices=indices):
            return indices
        case _:
            return children(node)


def _pointed_types(body: st.Stmt) -> dict[tir.Var, str]:
    """The C type of the elements behind each pointer; void if there are several, or they are pointers."""
    found: dict[tir.Var, str] = {}
    for node in post_order(body):
        if isinstance(node, (tir.BufferLoad, st.BufferStore)):
            kind = c_type(node.buffer.dtype)
            kind = "void" if kind == "void*" else kind
            if found.setdefault(node.buffer.data, kind) != kind:
                found[node.buffer.data] = "void"
    return found


def imported_sources(func: PrimFunc) -> list[Any]:
    """The C that a kernel brings along (`pragma_import_c`): texts, or the names of files."""
    found = []
    for node in post_order(func.body):
        if isinstance(node, (st.For, st.Block)):
            found.append(node.annotations.get(IMPORT))
        elif isinstance(node, st.AttrStmt) and node.attr_key == IMPORT:
            found.append(node.value)
    return [given for given in found if given is not None]


IMPORT = "pragma_import_c"
