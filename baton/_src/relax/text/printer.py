"""Relax programs as TVMScript (style of v0.19). `script.from_source` reads them back, structurally equal.

    script(module)             # the text of a module, function, binding or expression
    script(module, show_meta=True)   # with the contents of large constants, so that it reads back

Every binding is annotated (without `show_all_struct_info` where its value does not say as much); scalars are written as
numbers, other constants are in the metadata section. Linear in the size of the program, without recursion.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.relax.nodes import Binding, BindingBlock, ExternFunc, Function, SeqExpr
from baton._src.relax.struct_info import StructInfo
from baton._src.relax.text.names import identifier
from baton._src.relax.text.scalars import scalar_text
from baton._src.relax.text.statements import INDENT, StatementPrinter
from baton._src.relax.text.values import quoted
from baton._src.support.trampoline import run
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.text.printer import prim_func_lines

_HEADER = {
    "I": "# from tvm.script import ir as I",
    "T": "# from tvm.script import tir as T",
    "R": "# from tvm.script import relax as R",
}


def script(
    node: Any, *, show_meta: bool = False, module_name: str = "Module", show_all_struct_info: bool = True
) -> str:
    """The text of a module, function, binding, block, StructInfo or expression."""
    return _Printer(show_meta, show_all_struct_info).text(node, module_name)


def node_text(node: Node) -> str:
    """The `repr` of a Relax node: an expression on its own line, statements if it has bindings."""
    return _Printer(False).text(node, "Module", header=False)


class _Printer(StatementPrinter):
    """A whole text: what it imports, the metadata section, and a module or any part of one."""

    def __init__(self, show_meta: bool, show_all_struct_info: bool = True) -> None:
        super().__init__(show_all_struct_info)
        self.show_meta = show_meta

    def text(self, node: Any, module_name: str, header: bool = True) -> str:
        """Print `node` as a whole text."""
        uses: list[str] = []
        match node:
            case IRModule():
                uses = self._module(node, module_name)
            case PrimFunc():
                self.lines += prim_func_lines(node, _global_name(node))
                uses = ["T"]
            case Function():
                run(self.function(node, _global_name(node), local=False))
                uses = ["T", "R"] if any("T." in line for line in self.lines) else ["R"]
            case BindingBlock():
                run(self.block(node))
            case Binding():
                run(self.binding(node))
            case SeqExpr():
                self.lines.append(run(self.expr(node)))
            case StructInfo():
                self.lines.append(self.infos.text(node))
            case PrimExpr():
                self.lines.append(scalar_text(node, self.declarations.scalar_name))
            case _:
                self.lines.append(run(self.expr(node)))
        return "\n".join([*self._preamble(uses if header else []), *self.declarations.definitions, *self.lines])

    def _preamble(self, uses: list[str]) -> list[str]:
        found = [_HEADER[name] for name in uses]
        if not self.metadata.is_empty and (uses or self.show_meta):
            if self.show_meta:
                found += ["", self.metadata.section()]
            else:
                found += ["", "# Metadata omitted. Use show_meta=True in script() method to show it."]
        return [*found, ""] if found else []

    def _module(self, module: IRModule, name: str) -> list[str]:
        self.line("@I.ir_module")
        self.line(f"class {name}:")
        self.indent = INDENT
        start = len(self.lines)
        if module.attrs:
            self.line(f"I.module_attrs({self.value(dict(module.attrs))})")
        if module.global_infos:
            entries = ", ".join(
                f"{quoted(key)}: [{', '.join(_global_info(i) for i in infos)}]"
                for key, infos in module.global_infos.items()
            )
            self.line(f"I.module_global_infos({{{entries}}})")
        kinds: set[str] = set()
        self.declarations.module_name = name
        for var, function in sorted(module.functions.items(), key=_order_in_module):
            if len(self.lines) > start:
                self.lines.append("")
            kinds.add("R" if isinstance(function, Function) else "T")
            self._module_function(var, function)
        if len(self.lines) == start:
            self.line("pass")
        scalars = any("T." in line for line in self.lines)
        return ["I", *(["T"] if "T" in kinds or scalars else []), *(["R"] if "R" in kinds else [])]

    def _module_function(self, var: GlobalVar, function: Any) -> None:
        if isinstance(function, PrimFunc):
            self.lines += [self.indent + line if line else "" for line in prim_func_lines(function, var.name_hint)]
            return
        self.declarations.forget_names()
        run(self.function(function, var.name_hint, local=False))


def _order_in_module(entry: tuple[GlobalVar, Any]) -> tuple[int, str]:
    """Kernels, packed functions, functions; `main` last."""
    var, function = entry
    kinds = (PrimFunc, ExternFunc, Function)
    rank = next((i for i, kind in enumerate(kinds) if isinstance(function, kind)), len(kinds))
    return (len(kinds) + 1 if var.name_hint == "main" else rank, var.name_hint)


def _global_name(function: Any) -> str:
    return identifier(str(function.attrs.get("global_symbol", "main")))


def _global_info(info: Any) -> str:
    text = getattr(info, "script", None)
    return str(text()) if callable(text) else quoted(str(info))
