"""`compile_kernels`: PrimFuncs to object code.

    found = compile_kernels({"fused_add": func, "main": entry}, Target("llvm"), scheduler=..., as_they_stand={"main"})
    library = baton._src.runtime.native.library.load(found.code)

Each function becomes an LLVM module of its own, named by the hash of what it computes *before* it is scheduled: equal
kernels are scheduled and compiled once, and one that was compiled before (by any process on this machine) comes from
the cache without further work. The functions may call each other (`tir.Call("void", GlobalVar("fused_add"), ...)`) in
any order, but not recursively. Pointer arguments of a function with the attribute `tir.noalias` must not overlap unless
all of them are only read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from functools import lru_cache

import llvmlite

from baton._src.codegen.kernels import Scheduler, callees_first
from baton._src.codegen.llvm.cache import CacheOptions, ObjectCache, checked_by_environment
from baton._src.codegen.llvm.imported import imported, module_text, with_imported
from baton._src.codegen.llvm.jit import Machine, assembly, compile_text, target_machine, target_text
from baton._src.codegen.llvm.kernel import KERNEL, kernel_text
from baton._src.codegen.llvm.workers import shared
from baton._src.ir.cpu_features import changed
from baton._src.ir.expr import GlobalVar
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.passes.tir.lowering.lower_prim_func import lower_prim_func
from baton._src.runtime.native.object_bundle import ObjectBundle
from baton._src.support.dataclass import dataclass
from baton._src.support.source_fingerprint import source_fingerprint
from baton._src.tir import expr as tir
from baton._src.tir.kernel_digest import kernel_digest
from baton._src.tir.packed_calls import is_packed_call
from baton._src.tir.prim_func import UNSCHEDULED, PrimFunc

LONG = 1 << 12
"""The assumed size of `beside` work, in nodes of a kernel: it is started among the first."""
SOURCES = ("support", "values", "ir", "transform", "tir", "passes/tir", "codegen")
"""Sources that determine the code of a scheduled kernel: part of every key."""


@dataclass(frozen=True)
class CompileOptions:
    """How to compile. `workers` 0 means as many as there are cores.

    `checked` tests every access against its buffer, and fills outputs and work buffers with NaN (-1 for integers), so
    that reads of unwritten memory become visible.

    `level` is how much LLVM optimises: 3, or 1, which compiles fast and runs slower. None means 3, and 1 for checked
    code: that is for finding faults, and LLVM would take several times as long for it.

    The environment's BATON_CHECKED=1 makes checked builds the default, so that any program or test runs in that mode.
    """

    checked: bool = field(default_factory=checked_by_environment)
    level: int | None = None
    workers: int = 0
    cache: CacheOptions = field(default_factory=CacheOptions.from_environment)


@dataclass(frozen=True)
class CompiledKernels:
    """Object code for `runtime.native.library.load`, the rule that scheduled each symbol, and the results of `beside`
    work.
    """

    code: bytes
    rules: dict[str, str]
    beside: dict[str, bytes] = field(default_factory=dict)


def compile_module(functions: Mapping[str, PrimFunc], target: Target, options: CompileOptions | None = None) -> bytes:
    """Compile `functions`, given by symbol, without scheduling; return the object code."""
    return compile_kernels(functions, target, options).code


def compile_kernels(
    functions: Mapping[str, PrimFunc],
    target: Target,
    options: CompileOptions | None = None,
    scheduler: Scheduler | None = None,
    as_they_stand: Collection[str] = (),
    beside: Mapping[str, Callable[[], bytes]] | None = None,
) -> CompiledKernels:
    """Schedule (all but `as_they_stand`) and compile `functions`, given by symbol. `beside` is other work for the same
    processes.
    """
    chosen = options or CompileOptions()
    machine = Machine.of(target, chosen.level or (1 if chosen.checked else 3))
    jobs = _Jobs(functions, target, machine, chosen.checked, scheduler, as_they_stand)
    cache = ObjectCache(chosen.cache)
    parts: dict[str, bytes] = {}
    for key in jobs.symbols:
        found = cache.get(key) if key in jobs.lasting else None
        if found is not None:
            parts[key] = found
    missing = {key: jobs.sizes[key] for key in jobs.symbols if key not in parts}
    if missing:
        target_machine(machine)  # before any fork
    others = dict(beside or {})
    sizes = missing | dict.fromkeys(others, LONG)
    work = jobs.compile if not others else lambda key: others[key]() if key in others else jobs.compile(key)
    made = shared(sizes, work, chosen.workers) if sizes else {}
    for key in missing:
        parts[key] = made[key]
        if key in jobs.lasting:
            cache.put(key, made[key])
    return replace(_linked(jobs, parts, machine), beside={name: made[name] for name in others})


def _linked(jobs: _Jobs, parts: Mapping[str, bytes], machine: Machine) -> CompiledKernels:
    """The parts as one bundle, in an order that depends only on their contents."""
    ordered = sorted(parts)
    facts = {key: json.loads(parts[key][: parts[key].index(b"\n")]) for key in ordered}
    imports = dict.fromkeys(name for key in ordered for name in facts[key]["imports"])
    bundle = ObjectBundle(
        machine.triple,
        _required(jobs.target, machine),
        dict(jobs.names),
        tuple(imports),
        tuple(parts[key][parts[key].index(b"\n") + 1 :] for key in ordered),
    )
    rules = {symbol: facts[key]["rule"] for symbol, key in jobs.keys.items()}
    return CompiledKernels(bundle.to_bytes(), {s: rule for s, rule in rules.items() if rule})


class _Jobs:
    """What there is to compile: for each key one of the equal functions."""

    def __init__(
        self,
        functions: Mapping[str, PrimFunc],
        target: Target,
        machine: Machine,
        checked: bool,
        scheduler: Scheduler | None,
        as_they_stand: Collection[str],
    ) -> None:
        self.functions = functions
        self.target = target
        self.machine = machine
        self.checked = checked
        self.scheduler = scheduler
        self.as_they_stand = as_they_stand
        self.keys: dict[str, str] = {}
        self.names: dict[str, str] = {}
        """The name of each symbol inside the objects."""
        self.symbols: dict[str, str] = {}
        self.sizes: dict[str, int] = {}
        self.lasting: set[str] = set()
        """Keys that are the same in every process."""
        common = (llvmlite.__version__, repr(machine), target_text(target), str(checked), source_fingerprint(*SOURCES))
        calls: dict[str, list[str]] = {}
        self.raising: frozenset[str] = frozenset()
        """Functions that call packed functions, or others that do."""
        self.modules: dict[str, tuple[str, ...]] = {}
        """LLVM IR that functions bring along, by symbol."""
        for symbol, function in functions.items():
            calls[symbol], brought, calls_packed = _needs_of(function)
            if calls_packed:
                self.raising |= {symbol}
            self.modules[symbol] = tuple(dict.fromkeys(map(module_text, brought)))
        for symbol in callees_first(calls):
            self._add(symbol, calls[symbol], common)
        self.names = {symbol: self.names[symbol] for symbol in functions}

    def _add(self, symbol: str, callees: list[str], common: tuple[str, ...]) -> None:
        if not self.raising.isdisjoint(callees):
            self.raising |= {symbol}
        digest = kernel_digest(self.functions[symbol], names=self.checked)
        scheduled = self._scheduler(symbol)
        parts = [*common, scheduled.version if scheduled else "", symbol if self.checked else ""]
        parts.append(scheduled.choices(symbol, self.functions[symbol]) if scheduled else "")
        parts += [f"{callee}={self.names[callee]}" for callee in callees if callee in self.names]
        parts += self.modules[symbol]
        parts.append(f"opaque {symbol}" if digest is None else digest.name)
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        self.keys[symbol] = key
        self.names[symbol] = f"k_{key[:24]}"
        self.symbols.setdefault(key, symbol)
        self.sizes[key] = 0 if digest is None else digest.size
        if digest is not None:
            self.lasting.add(key)

    def _scheduler(self, symbol: str) -> Scheduler | None:
        return None if symbol in self.as_they_stand else self.scheduler

    def compile(self, key: str) -> bytes:
        """A line of JSON (what the code imports, the rule that scheduled it), then the object."""
        symbol = self.symbols[key]
        text, imports, rule = self.text(symbol)
        facts = {"imports": imports, "rule": rule}
        code = compile_text(text, self.machine, _has_given_loops(rule))
        return json.dumps(facts, separators=(",", ":")).encode() + b"\n" + code

    def text(self, symbol: str) -> tuple[str, tuple[str, ...], str]:
        """LLVM IR of a function under its name, what it imports, its rule."""
        function, rule, unscheduled = self.functions[symbol], "", None
        scheduler = self._scheduler(symbol)
        if scheduler is not None:
            unscheduled = function
            function, rule = scheduler.run(function)
        lowered = lower_prim_func(function, self.target, unscheduled)
        target = self.target
        bits, features = target.vector_bits, target.features
        raising = self.raising if symbol in self.raising else frozenset()
        kernel = kernel_text(symbol, lowered, self.names, features, bits, self.checked, raising)
        text, imports = kernel.text.replace(f"@{KERNEL}(", f"@{self.names[symbol]}(", 1), kernel.imports
        if self.modules[symbol]:
            text, imports = with_imported(text, self.modules[symbol], imports)
        return text, imports, rule


def module_texts(
    functions: Mapping[str, PrimFunc], target: Target, checked: bool = False
) -> tuple[dict[str, str], tuple[str, ...]]:
    """LLVM IR by symbol, each kernel under its name inside the objects, and what has to be imported."""
    jobs = _Jobs(functions, target, Machine.of(target), checked, None, ())
    found = {symbol: jobs.text(symbol) for symbol in functions}
    imports = dict.fromkeys(name for _, needed, _ in found.values() for name in needed)
    return {symbol: text for symbol, (text, _, _) in found.items()}, tuple(imports)


def sources(
    functions: Mapping[str, PrimFunc],
    target: Target,
    fmt: str = "ll",
    checked: bool = False,
    scheduler: Scheduler | None = None,
) -> list[str]:
    """The source of each kernel for reading: LLVM IR ("ll"), or the assembly that LLVM makes of it ("asm")."""
    machine = Machine.of(target)
    jobs = _Jobs(functions, target, machine, checked, scheduler, ())
    found = [jobs.text(symbol) for symbol in functions]
    if fmt == "asm":
        return [assembly(text, machine, _has_given_loops(rule)) for text, _, rule in found]
    return [text for text, _, _ in found]


def _has_given_loops(rule: str) -> bool:
    """Whether a kernel's loops are those of a script, and not a rule's."""
    return rule.startswith(UNSCHEDULED)


def _needs_of(func: PrimFunc) -> tuple[list[str], list[object], bool]:
    """The kernels a function calls, what it annotates as LLVM IR to import, and whether it calls packed functions."""
    calls: list[str] = []
    modules: list[object] = []
    calls_packed = False
    for node in post_order(func.body):
        if isinstance(node, tir.Call):
            if isinstance(node.op, GlobalVar):
                calls.append(node.op.name_hint)
            calls_packed = calls_packed or is_packed_call(node)
        elif (brought := imported(node)) is not None:
            modules.append(brought)
    return calls, modules, calls_packed


@lru_cache(maxsize=16)
def _required(target: Target, machine: Machine) -> tuple[str, ...]:
    """The instruction sets that the code may use, as far as a loader can test for them: what is known of a named CPU,
    all that this machine has.
    """
    if not target.is_host:
        return tuple(sorted(target.features))
    changes = machine.features.split(",") if machine.features else []
    left = changed(frozenset(), changes)
    return tuple(sorted({f[1:] for f in changes if f.startswith("+") and f != "+64bit" and f[1:] in left}))
