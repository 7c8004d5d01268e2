"""Resolve names at run time: functions and kernels of the module, packed functions, builtins of the VM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.relax.check.signatures import function_info, prim_func_info
from baton._src.relax.interpret.environment import Frame, FunctionClosure, PrimFuncValue
from baton._src.relax.nodes import Function
from baton._src.runtime.vm.builtins.shapes import alloc_shape_tensor
from baton._src.runtime.vm.builtins.table import BUILTINS
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.packed_func import FunctionTable

_MACHINE_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **BUILTINS,
    "vm.builtin.alloc_shape_heap": lambda machine, size: alloc_shape_tensor(size),
    "vm.builtin.make_closure": lambda machine, function, *captured: machine.partial(function, captured),
}
"""The VM builtins that lowering passes call. To those called with a context the interpreter is the machine."""


class NamedFunctions:
    """The functions of `module`, and the packed `functions` it may call. `invoke` runs a closure for the host."""

    def __init__(self, module: IRModule, functions: FunctionTable, invoke: Callable[[Any, Sequence[Any]], Any]) -> None:
        self._functions = functions
        self._invoke = invoke
        self._by_name: Mapping[str, Any] = {v.name_hint: f for v, f in module.functions.items()}
        self.kernels = {n: f for n, f in self._by_name.items() if isinstance(f, PrimFunc)}
        self._by_symbol = {f.attrs.get("global_symbol"): n for n, f in reversed(self.kernels.items())}
        self._globals: dict[str, Any] = {}

    def check_public(self, name: str) -> None:
        """Errors: `function-missing` where the module has no public Relax function of that name."""
        function = self._by_name.get(name)
        if not isinstance(function, Function) or function.attrs.get("global_symbol") is None:
            public = ", ".join(n for n, f in self._by_name.items() if "global_symbol" in getattr(f, "attrs", {}))
            private = " (it is private)" if isinstance(function, Function) else ""
            message = f"the module has no public function {name!r}{private}"
            raise fail("function-missing", message, help=f"it has: {public or 'none'}", kind=AttributeError)

    def of_module(self, name: str) -> Any:
        """A function or kernel of the module as a value."""
        known = self._globals.get(name)
        if known is None:
            function = self._by_name.get(name)
            if isinstance(function, Function):
                known = FunctionClosure(name, function, Frame(), None, function_info(function), self._invoke)
            elif isinstance(function, PrimFunc):
                known = PrimFuncValue(name, function, prim_func_info(function), self._invoke)
            else:
                raise fail("relax-api", f"the module has no function {name!r}")
            self._globals[name] = known
        return known

    def extern(self, symbol: str) -> Any:
        """A PrimFunc of the module with that symbol (RELAX-SEM-05), a registered packed function, or the VM's."""
        if symbol in self._by_symbol:
            return self.of_module(self._by_symbol[symbol])
        found = self._functions.get(symbol)
        return found or _MACHINE_FUNCTIONS.get(symbol) or self._functions.lookup(symbol)
