"""The result of lowering a module: bytecode, native entries, and the kernels they call."""

from __future__ import annotations

from dataclasses import field, replace

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import DimProver
from baton._src.ir.traverse import post_order
from baton._src.lower.memory_plan import MemoryPlan
from baton._src.lower.relax_to_vm.infos import to_value_info
from baton._src.lower.relax_to_vm.native_entry import Entry
from baton._src.relax.check.signatures import prim_func_info
from baton._src.relax.nodes import ExternFunc, Function
from baton._src.runtime.executable.bytecode import Operand
from baton._src.runtime.executable.exec_builder import ExecBuilder
from baton._src.runtime.executable.function_entry import FunctionEntry
from baton._src.runtime.native.native_plan import NativePlan
from baton._src.runtime.value_info import ValueInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import Call
from baton._src.tir.prim_func import PrimFunc


@dataclass
class Program:
    """`compiled`: runs of kernel calls become native entries; otherwise every call is an instruction of its own.

    `spoils`: entries fill the outputs of kernels with NaN, or -1, before they run.
    """

    module: IRModule
    compiled: bool = True
    spoils: bool = False
    builder: ExecBuilder = field(default_factory=ExecBuilder)
    prover: DimProver = field(default_factory=Analyzer)
    natives: dict[str, NativePlan] = field(default_factory=dict)
    entries: dict[str, PrimFunc] = field(default_factory=dict)
    memory: dict[str, MemoryPlan] = field(default_factory=dict)
    kernels: dict[GlobalVar, PrimFunc] = field(default_factory=dict)
    """Kernels that are called; those called by the VM itself are in `machine_kernels` as well."""
    machine_kernels: dict[GlobalVar, PrimFunc] = field(default_factory=dict)
    overwrites: dict[GlobalVar, set[tuple[int, int]]] = field(default_factory=dict)
    """By kernel, the (operand, result) parameters that share memory in some call."""
    _names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._own = {v.name_hint for v in self.module.functions}
        functions = [f for f in self.module.functions.values() if isinstance(f, Function)]
        packed = (n.global_symbol for f in functions for n in post_order(f.body) if isinstance(n, ExternFunc))
        self._names.update(self._own, packed)
        self._symbols = {
            str(f.attrs["global_symbol"]): v
            for v, f in self.module.functions.items()
            if isinstance(f, (Function, PrimFunc)) and "global_symbol" in f.attrs
        }

    def unique_name(self, wish: str) -> str:
        """`wish`, with a number appended if it is taken."""
        name, count = wish, 1
        while name in self._names:
            count += 1
            name = f"{wish}_{count}"
        self._names.add(name)
        return name

    def demand(self, var: GlobalVar) -> None:
        """Record that the VM itself calls `var`; if it is a kernel, it needs a signature and a place in the table."""
        function = self.module.functions.get(var)
        if isinstance(function, PrimFunc) and var not in self.machine_kernels:
            self.machine_kernels[var] = function
            self.use_kernel(var, function)
            info = to_value_info(prim_func_info(function), {})
            self.builder.add_function(FunctionEntry("kernel", var.name_hint, info=info))

    def extern(self, symbol: str) -> Operand:
        """The function an ExternFunc names: one of the module with that global symbol, else a packed function."""
        var = self._symbols.get(symbol)
        if var is None:
            return self.builder.packed(symbol) if symbol in self._own else self.builder.f(symbol)
        self.demand(var)
        return self.builder.f(var.name_hint)

    def add_entry(self, entry: Entry, public: bool = False, info: ValueInfo | None = None) -> None:
        """Add a native entry to the program, and its constants to the table of constants."""
        numbers = tuple(self.builder.constant_index(c.data) for c in entry.constants)
        plan = replace(entry.plan, constants=numbers)
        self.natives[plan.name] = plan
        self.entries[plan.symbol] = entry.function
        self.memory[plan.name] = entry.memory
        for kernel, pairs in entry.overwrites.items():
            self.overwrites.setdefault(kernel, set()).update(pairs)
        names = tuple(i.name for i in plan.inputs)
        self.builder.add_function(FunctionEntry("native", plan.name, names, public=public, info=info))

    def use_kernel(self, var: GlobalVar, function: PrimFunc) -> None:
        """Record that the kernel is called, together with those that it calls."""
        work = [(var, function)]
        while work:
            called, body = work.pop()
            if called not in self.kernels:
                self.kernels[called] = body
                work += [(c, f) for c in callees(body) if isinstance(f := self.module.functions[c], PrimFunc)]

    def note_overwriting(self) -> None:
        """Mark in the kernels which operands entries let them overwrite; to be called once all entries are added."""
        for kernel, pairs in self.overwrites.items():
            self.kernels[kernel] = self.kernels[kernel].with_attr("tir.overwrites", tuple(sorted(pairs)))


def callees(function: PrimFunc) -> list[GlobalVar]:
    """The kernels that a kernel calls: none, unless it was made from a function with control flow."""
    if not function.attrs.get("calls_kernels"):
        return []
    calls = (n for n in post_order(function.body) if isinstance(n, Call))
    return list(dict.fromkeys(c.op for c in calls if isinstance(c.op, GlobalVar)))
