"""RunCodegen: functions for external compilers are handed to them; calls become calls of what they give.

    gv = cls.f_mybackend(x)  # Codegen "mybackend"      ->      gv = R.call_pure_packed("f_mybackend", x)

A backend is a packed function `relax.ext.<name>(functions, options, constant names)`, registered by `register_func`. It
gets the functions, and gives a list, one entry a function: a Python callable or packed function (which is registered
under the function's `global_symbol`), or any object for the module attribute `external_mods` (then something else
provides the symbol when the program runs). Error `pass-codegen`: nobody registered the backend.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.bindings.dead_code_elimination import remove_unreachable
from baton._src.relax.nodes import Call, ExternFunc, Function, VarBinding
from baton._src.relax.special_ops import special_op
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.packed_func import PROCESS_FUNCTIONS, FunctionTable, PackedFunc


@dataclass(frozen=True)
class RunCodegen(Pass):
    """See the module. `target_options`: options by backend; `table`: backends, and where symbols go."""

    target_options: Mapping[str, Mapping[str, Any]] | None = None
    entry_functions: Sequence[str] | None = None
    table: FunctionTable = field(default=PROCESS_FUNCTIONS)

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        chosen: dict[str, list[tuple[GlobalVar, Function]]] = {}
        for var, function in module.functions.items():
            if isinstance(function, Function) and function.attrs.get("Codegen"):
                chosen.setdefault(str(function.attrs["Codegen"]), []).append((var, function))
        if not chosen:
            return module
        external: list[Any] = []
        for name, found in chosen.items():
            external.extend(self._compile(name, found))
        symbols = {v: str(f.attrs["global_symbol"]) for found in chosen.values() for v, f in found}
        caller = _Caller(module, symbols)
        functions = {
            v: caller.function(f) if isinstance(f, Function) else f
            for v, f in module.functions.items()
            if v not in symbols
        }
        entries = [module.get_global_var(name).name_hint for name in self.entry_functions or ()]
        result = remove_unreachable(module.with_functions(functions), entries)
        return (
            result.with_attr("external_mods", [*module.attrs.get("external_mods", []), *external])
            if external
            else result
        )

    def _compile(self, name: str, found: list[tuple[GlobalVar, Function]]) -> list[Any]:
        """Let the backend work; what it gives that cannot be called here."""
        backend = self.table.get(f"relax.ext.{name}")
        if backend is None:
            raise fail(
                "pass-codegen", f"RunCodegen: nobody registered the backend {name!r}",
                help=f'register it: register_func("relax.ext.{name}", function)',
            )  # fmt: skip
        options = dict((self.target_options or {}).get(name, {}))
        functions = [f for _, f in found]
        given = list(backend.function(functions, options, {}))
        left = []
        for number, entry in enumerate(given):
            if callable(entry) and number < len(functions):
                symbol = str(functions[number].attrs["global_symbol"])
                self.table.register(symbol, entry if isinstance(entry, PackedFunc) else PackedFunc(entry, symbol), True)
            else:
                left.append(entry)
        return left


class _Caller(BindingRewriter):
    """Calls of the functions given become calls of packed functions."""

    def __init__(self, module: IRModule, symbols: Mapping[GlobalVar, str]) -> None:
        super().__init__(module)
        self.symbols = symbols

    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        if not isinstance(value, Call) or value.op not in self.symbols:
            return value
        callee = ExternFunc(self.symbols[value.op])
        info = value.struct_info
        operands = [callee, *value.args]
        return self.normalized(Call(special_op("call_pure_packed"), operands, None, (info,), value.span))
