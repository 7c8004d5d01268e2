"""RunCodegen: compile functions with their external compilers, and call the results instead.

    gv = cls.f_mybackend(x)  # Codegen "mybackend"
    ->
    gv = R.call_dps_packed("f_mybackend", (x,), out_sinfo=R.Tensor(...))

A backend is a packed function `relax.ext.<name>(functions, options, constant names)`, registered by `register_func`. It
takes the functions and returns a list. If an entry is a module with functions of these names (as from `tvm.build`), or
a Python callable in place of a function, it is registered under the function's `global_symbol`, followed by a number
where other code has that name: that of a program compiled before, which goes on to use it. For any other object the
symbol must be provided when the program runs. Modules and such objects are the module attribute `external_mods`. In
either case the code is called with the arguments followed by the output tensors, as in TVM v0.19. Modules that
`tvm.build` made go into the program's file.

Constants inside the functions are named (`<symbol>_<backend>_const_0`, ..); the module attribute
`const_name_to_constant` then maps these names to tensors. Error `pass-codegen`: the backend is not registered, it
fails, or a function for it is used as a value or has no symbol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import chain, count
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.bindings.dead_code_elimination import remove_unreachable
from baton._src.relax.nodes import Call, Constant, ExternFunc, Function, Tuple, VarBinding
from baton._src.relax.special_ops import special_op
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.packed_func import PROCESS_FUNCTIONS, ExternalCode, FunctionTable, PackedFunc


@dataclass(frozen=True)
class RunCodegen(Pass):
    """See the module. `target_options`: options by backend; `table`: backends, and where symbols go."""

    target_options: Mapping[str, Mapping[str, Any]] | None = None
    entry_functions: Sequence[str] | None = None
    table: FunctionTable = field(default=PROCESS_FUNCTIONS)

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        entries = [module.get_global_var(name).name_hint for name in self.entry_functions or ()]
        chosen: dict[str, list[tuple[GlobalVar, Function]]] = {}
        for var, function in module.functions.items():
            if isinstance(function, Function) and function.attrs.get("Codegen"):
                _check_symbol(var, function)
                chosen.setdefault(str(function.attrs["Codegen"]), []).append((var, function))
        if not chosen:
            return module
        names = _constant_names(chosen)
        external: list[Any] = []
        registered: dict[str, str] = {}
        for name, found in chosen.items():
            symbols_of = [str(f.attrs["global_symbol"]) for _, f in found]
            for number, entry in enumerate(self._compile(name, found, names)):
                made = self._registered(entry, symbols_of, number)
                registered.update(made)
                external += [] if made and not hasattr(entry, "implements_function") else [entry]
        own = {v: str(f.attrs["global_symbol"]) for found in chosen.values() for v, f in found}
        symbols = {v: registered.get(symbol, symbol) for v, symbol in own.items()}
        caller = _Caller(module, symbols)
        functions = {
            v: caller.function(f) if isinstance(f, Function) else f
            for v, f in module.functions.items()
            if v not in symbols
        }
        result = remove_unreachable(module.with_functions(functions), entries)
        _check_calls_only(result, symbols)
        if external:
            result = result.with_attr("external_mods", [*module.attrs.get("external_mods", []), *external])
        if names:
            known = module.attrs.get("const_name_to_constant", {})
            tensors = {name: constant.data for constant, name in names.items()}
            result = result.with_attr("const_name_to_constant", {**known, **tensors})
        return result

    def _compile(
        self, name: str, found: list[tuple[GlobalVar, Function]], constants: Mapping[Constant, str]
    ) -> list[Any]:
        """What the backend gives for the functions."""
        backend = self.table.get(f"relax.ext.{name}")
        if backend is None:
            raise fail(
                "pass-codegen", f"RunCodegen: nobody registered the backend {name!r}",
                help=f'register it: register_func("relax.ext.{name}", function)',
            )  # fmt: skip
        options = dict((self.target_options or {}).get(name, {}))
        symbols = [str(f.attrs["global_symbol"]) for _, f in found]
        try:
            return list(backend.function([f for _, f in found], options, dict(constants)))
        except DiagnosticError:
            raise
        except Exception as error:
            raise fail(
                "pass-codegen",
                f"RunCodegen: the backend {name!r} failed on {', '.join(symbols)}: {type(error).__name__}: {error}",
                help="a backend takes (functions, options, constant names) and returns a list",
            ) from error

    def _registered(self, entry: Any, symbols: Sequence[str], number: int) -> dict[str, str]:
        """Register an entry of a backend's result if it can be called here; returns the names, by symbol."""
        if hasattr(entry, "implements_function"):
            provided = {s: entry.get_function(s) for s in symbols if entry.implements_function(s)}
        else:
            provided = {symbols[number]: entry} if callable(entry) and number < len(symbols) else {}
        return {symbol: self._named(symbol, code, entry) for symbol, code in provided.items()}

    def _named(self, symbol: str, code: Any, module: Any) -> str:
        """The name in the table that the code of a symbol gets, which a module of the backend's has."""
        taken = set(self.table.names())
        name = next(n for n in chain([symbol], (f"{symbol}_{i}" for i in count(1))) if n not in taken)
        function = code.function if isinstance(code, PackedFunc) else code
        self.table.register(name, ExternalCode(function, name, module, symbol))
        return name


def _check_symbol(var: GlobalVar, function: Function) -> None:
    """Error `pass-codegen` for a function without a symbol, by which the compiled code is found."""
    if "global_symbol" not in function.attrs:
        raise fail(
            "pass-codegen",
            f"RunCodegen: {var.name_hint} is for the backend {function.attrs['Codegen']}, but has no global_symbol",
            span=function.span,
            help="make it public",
        )


def _constant_names(chosen: Mapping[str, list[tuple[GlobalVar, Function]]]) -> dict[Constant, str]:
    """Names of the constants in functions for backends, numbered for each function."""
    names: dict[Constant, str] = {}
    for codegen, found in chosen.items():
        for _, function in found:
            constants = [n for n in post_order(function.body) if isinstance(n, Constant)]
            start = f"{function.attrs['global_symbol']}_{codegen}_const"
            names.update((constant, f"{start}_{number}") for number, constant in enumerate(constants))
    return names


def _check_calls_only(module: IRModule, symbols: Mapping[GlobalVar, str]) -> None:
    """Error `pass-codegen` if a function mentions one of those that are gone: the calls have been replaced."""
    for var, function in module.functions.items():
        for node in post_order(function) if isinstance(function, Function) else ():
            if isinstance(node, GlobalVar) and node in symbols:
                raise fail(
                    "pass-codegen",
                    f"RunCodegen: {var.name_hint} uses {node.name_hint} as a value, which a backend compiles",
                    span=node.span,
                    help=f"call it by its name, or in a function of the module that calls {node.name_hint}",
                )


class _Caller(BindingRewriter):
    """Replaces calls of the given functions by calls of packed functions that write to their last arguments."""

    def __init__(self, module: IRModule, symbols: Mapping[GlobalVar, str]) -> None:
        super().__init__(module)
        self.symbols = symbols

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if not isinstance(value, Call) or value.op not in self.symbols:
            return value
        operands = [ExternFunc(self.symbols[value.op]), Tuple(value.args)]
        return self.normalized(Call(special_op("call_dps_packed"), operands, None, (value.struct_info,), value.span))
