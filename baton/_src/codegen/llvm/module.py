"""`compile_module`: scheduled PrimFuncs to object code.

    code = compile_module({"fused_add": func, "main": entry}, Target("llvm"))
    library = baton._src.runtime.native.load(code)

Each function becomes an LLVM module of its own, named by the hash of its text: equal kernels are compiled once, and
one that was compiled before (by any process on this machine) comes from the cache. Calls between the functions
(`tir.Call("void", GlobalVar("fused_add"), ...)`) may go in any order but not in circles. Pointer arguments of a
function with the attribute `tir.noalias` must not overlap unless all of them are only read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import llvmlite

from baton._src.codegen.llvm.cache import CacheOptions, ObjectCache
from baton._src.codegen.llvm.jit import Machine
from baton._src.codegen.llvm.kernel import KERNEL, kernel_text
from baton._src.codegen.llvm.workers import compile_all, shared
from baton._src.ir.expr import GlobalVar
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.passes.tir.lower_prim_func import lower_prim_func
from baton._src.runtime.object_bundle import ObjectBundle
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.prim_func import PrimFunc

FORMAT = "1"
"""Changes when the same text would be compiled differently (options, attributes)."""

SHARE_ABOVE = 150
"""Stores to lower, all kernels together, that are worth a second process."""


@dataclass(frozen=True)
class CompileOptions:
    """How to compile. `checked` tests every access against its buffer; `workers` 0 means as many as there are cores."""

    checked: bool = False
    level: int = 3
    workers: int = 0
    cache: CacheOptions = field(default_factory=CacheOptions.from_environment)


def compile_module(functions: Mapping[str, PrimFunc], target: Target, options: CompileOptions | None = None) -> bytes:
    """Object code of `functions` by symbol, for `runtime.native.load`."""
    chosen = options or CompileOptions()
    machine = Machine.of(target, chosen.level)
    texts, imports = module_texts(functions, target, chosen.checked, chosen.workers)
    keys = {symbol: _key(text, machine) for symbol, text in texts.items()}
    cache = ObjectCache(chosen.cache)
    objects: dict[str, bytes] = {}
    missing: dict[str, str] = {}
    for symbol, key in keys.items():
        if key in objects or key in missing:
            continue
        found = cache.get(key)
        if found is None:
            missing[key] = texts[symbol]
        else:
            objects[key] = found
    for key, content in compile_all(missing, machine, chosen.workers).items():
        objects[key] = content
        cache.put(key, content)
    ordered = sorted(set(keys.values()))
    bundle = ObjectBundle(
        machine.triple,
        _required(machine),
        {symbol: linker_name(texts[symbol]) for symbol in functions},
        imports,
        tuple(objects[key] for key in ordered),
    )
    return bundle.to_bytes()


def module_texts(
    functions: Mapping[str, PrimFunc], target: Target, checked: bool = False, workers: int = 0
) -> tuple[dict[str, str], tuple[str, ...]]:
    """LLVM IR by symbol, each kernel under its linker name, and what has to be imported."""
    order = _callees_first(functions)
    names: dict[str, str] = {}
    texts: dict[str, str] = {}
    imports: dict[str, None] = {}

    def write(symbol: str) -> bytes:
        lowered = lower_prim_func(functions[symbol], target)
        kernel = kernel_text(symbol, lowered, names, target.features, target.vector_bits, checked)
        return "\0".join((kernel.text, *kernel.imports)).encode()

    leaves = {symbol: _size(functions[symbol]) for symbol in order if not _calls(functions[symbol])}
    written = shared(leaves, write, SHARE_ABOVE, workers)
    for symbol in order:
        text, *needed = (written.get(symbol) or write(symbol)).decode().split("\0")
        name = linker_name(text)
        names[symbol] = name
        texts[symbol] = text.replace(f"@{KERNEL}(", f"@{name}(", 1)
        imports.update(dict.fromkeys(needed))
    return texts, tuple(imports)


def _size(func: PrimFunc) -> int:
    """Roughly how much there is to write: statements that store, and vectors of them."""
    return sum(isinstance(n, st.BufferStore) for n in post_order(func.body))


def _calls(func: PrimFunc) -> list[str]:
    """The kernels a function calls."""
    return [n.op.name_hint for n in post_order(func.body) if isinstance(n, tir.Call) and isinstance(n.op, GlobalVar)]


def linker_name(text: str) -> str:
    """The name of the kernel in `text`: the hash of the text with the name left out, or the name it already has."""
    start = text.find("define void @k_")
    if start >= 0:
        return text[start + len("define void @") :].partition("(")[0]
    return "k_" + hashlib.sha256(text.encode()).hexdigest()[:24]


def _key(text: str, machine: Machine) -> str:
    parts = (FORMAT, llvmlite.__version__, machine.triple, machine.cpu, machine.features, str(machine.level), text)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _required(machine: Machine) -> tuple[str, ...]:
    """The instruction sets that the code may use, as far as a loader can tell."""
    return tuple(sorted(f[1:] for f in machine.features.split(",") if f.startswith("+") and f != "+64bit"))


def _callees_first(functions: Mapping[str, PrimFunc]) -> list[str]:
    """Symbols such that every function comes after those it calls."""
    calls = {symbol: [c for c in _calls(func) if c in functions] for symbol, func in functions.items()}
    order: list[str] = []
    state: dict[str, int] = {}
    for root in functions:
        stack = [root]
        while stack:
            symbol = stack[-1]
            if state.get(symbol, 0) == 0:
                state[symbol] = 1
                for callee in calls[symbol]:
                    if state.get(callee) == 1:
                        raise fail("codegen-recursion", f"the kernels {symbol} and {callee} call each other")
                    if callee not in state:
                        stack.append(callee)
            else:
                stack.pop()
                if state[symbol] == 1:
                    state[symbol] = 2
                    order.append(symbol)
    return order
