"""One lowered PrimFunc to the text of an LLVM module.

The module defines one function, named `KERNEL` until its content hash is known, and calls other kernels by their linker
names. Internal helpers (mathematics, outlined loops) are private to it.
"""

from __future__ import annotations

from baton._src.codegen.llvm.function_writer import KernelContext
from baton._src.codegen.llvm.padded import from_memory
from baton._src.codegen.llvm.stmt import StmtWriter
from baton._src.codegen.llvm.text import FunctionText, ModuleText
from baton._src.codegen.llvm.types import memory_type
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import InternalError
from baton._src.tir.prim_func import PrimFunc

KERNEL = "baton_kernel"
LIBRARY_CALLS = ("memcpy", "memmove", "memset")
"""What LLVM's optimiser may call by itself."""


@dataclass(frozen=True)
class KernelText:
    """A kernel ready to be compiled. `calls` are linker names of other kernels; `imports` come from the process."""

    text: str
    imports: tuple[str, ...]


def kernel_text(
    name: str,
    func: PrimFunc,
    callees: dict[str, str],
    features: frozenset[str],
    vector_bits: int,
    checked: bool = False,
    raising: frozenset[str] = frozenset(),
) -> KernelText:
    """The LLVM module of `func` (lowered: plain loops, flat buffers, params as in its ABI, no buffer map).

    `name` is used in messages only; `callees` gives the linker names of kernels it may call, `raising` are the
    kernels that call packed functions, if this one is among them.
    """
    if func.buffer_map:
        raise InternalError(f"code generation: {name} is not lowered (it has a buffer map)")
    module = ModuleText(features)
    text = FunctionText(module)
    noalias = bool(func.attrs.get("tir.noalias", False))
    shared = {func.params[place] for pair in func.attrs.get("tir.overwrites", ()) for place in pair}
    shown = name if checked else "kernel"
    context = KernelContext(shown, features, callees, noalias, frozenset(shared), checked, raising)
    writer = StmtWriter(context, text)
    params = []
    for number, var in enumerate(func.params):
        operand = f"%p{number}"
        kind = memory_type(var.dtype)
        params.append(f"{kind}{' noalias' if context.is_apart(var) else ''} {operand}")
        writer.e.env[var] = from_memory(text, var.dtype, operand)
    if checked:
        writer.extents.update(func.attrs.get("buffer_extents", {}))
    writer.emit(func.body)
    text.line("ret void")
    module.definitions[KERNEL] = text.finish(f"define void @{KERNEL}({', '.join(params)}) #0")
    attributes = "nounwind"
    if vector_bits >= 512:
        attributes += ' "prefer-vector-width"="512" "min-legal-vector-width"="512"'
    return KernelText(module.render(attributes), (*module.imports, *LIBRARY_CALLS))
