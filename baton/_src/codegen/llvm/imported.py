"""LLVM IR that a kernel brings along: the annotation `pragma_import_llvm` of a loop or block, as TVM reads it.

    s[C].pragma(x, "import_llvm", text)                      # te
    sch.annotate(loop, "pragma_import_llvm", "micro.ll")     # tir: text, or a file of text (.ll) or bitcode (.bc)

Functions of that IR are what `call_extern` calls by name. They become part of the kernel's object, private to it, so
the library can be saved, and two kernels may bring the same functions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import llvmlite.binding as llvm

from baton._src.ir.node import Node
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st

T = TypeVar("T")

KEY = "pragma_import_llvm"
_HELP = "make it with an LLVM as new as this one (pointers are `ptr`), for the same target"


def imported(node: Node) -> object:
    """What a statement annotates as IR to import: text or a path; None for other statements."""
    if isinstance(node, (st.For, st.Block)):
        return node.annotations.get(KEY)
    return node.value if isinstance(node, st.AttrStmt) and node.attr_key == KEY else None


def module_text(given: object) -> str:
    """The IR as text. Error `import-llvm`: it is no text, the file cannot be read, or it is no IR."""
    content = given.value if isinstance(given, tir.StringImm) else given
    if not isinstance(content, str):
        raise fail("import-llvm", f"{KEY} takes LLVM IR or a file of it, not a {type(content).__name__}")
    if not content.endswith((".ll", ".bc")):
        return content
    try:
        data = Path(content).read_bytes()
    except OSError as error:
        raise fail("import-llvm", f"the LLVM IR {content} cannot be read: {error}") from error
    return data.decode() if content.endswith(".ll") else str(_parsed(llvm.parse_bitcode, data))


def with_imported(text: str, modules: tuple[str, ...], imports: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """A kernel's module with the functions of others, and what both need from the process."""
    whole = llvm.parse_assembly(text)
    defined: set[str] = set()
    for module in modules:
        part = _parsed(llvm.parse_assembly, _without_target(module))
        defined |= {f.name for f in part.functions if not f.is_declaration}
        try:
            whole.link_in(part)
        except RuntimeError as error:
            raise fail("import-llvm", f"the imported LLVM IR does not fit: {error}", help=_HELP) from error
    for function in whole.functions:
        if function.name in defined:
            function.linkage = llvm.Linkage.internal
    needed = {f.name for f in whole.functions if f.is_declaration and not f.name.startswith(("llvm.", "k_"))}
    return str(whole), tuple(dict.fromkeys((*(n for n in imports if n not in defined), *sorted(needed))))


def _parsed(parse: Callable[[T], llvm.ModuleRef], content: T) -> llvm.ModuleRef:
    try:
        module = parse(content)
        module.verify()
    except RuntimeError as error:
        raise fail("import-llvm", f"the imported LLVM IR is not valid: {error}", help=_HELP) from error
    return module


def _without_target(text: str) -> str:
    """Without the lines that name a target: all is compiled for the kernel's."""
    return "\n".join(line for line in text.splitlines() if not line.startswith(("target triple", "target datalayout")))
