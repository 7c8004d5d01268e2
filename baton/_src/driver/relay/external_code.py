"""Functions for external compilers: compiled by the code generator that a script registered, called at run time.

    @tvm.register_func("relay.ext.mine")
    def generate(function): ...     gives a module that has function.attrs["global_symbol"], or a callable

The code is called with the arguments (the tensors of tuples one by one), then the results to fill. A function whose
compiler has no such generator is left alone: `CheckCompilers` refuses it. Modules that `tvm.build` made are part of
saved files. Other code is not: register `relay.ext.<compiler>.<symbol>` as a packed function before running one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.attrs import OpenAttrs
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpDef
from baton._src.ir.types import TensorType, TupleType
from baton._src.passes.relay.external.partition_graph import compiler_of
from baton._src.relax import nodes as rx
from baton._src.relax.info import from_info as relax_from_info
from baton._src.relax.special_ops import special_op
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.info import to_info
from baton._src.relay.nodes import Call, Function, TupleGetItem, Var
from baton._src.support.diagnostics import fail
from baton._src.values.packed_func import PROCESS_FUNCTIONS, ExternalCode

_WHY = "it is the code of an external compiler"


def hand_over(module: IRModule) -> tuple[IRModule, dict[str, ExternalCode]]:
    """The module with every function of a registered compiler turned into a call of what its code generator gave, and
    that code by name."""
    wanted = {v.name_hint: compiler_of(f) for v, f in module.functions.items() if compiler_of(f)}
    generators = {name: PROCESS_FUNCTIONS.get(f"relay.ext.{name}") for name in set(wanted.values())}
    if not any(generators.values()):
        return module, {}
    typed = infer_type(module)
    functions, code = dict(typed.functions), {}
    for var, function in typed.functions.items():
        generator = generators.get(wanted.get(var.name_hint, ""))
        if generator is not None:
            symbol = str(function.attrs.get("global_symbol") or var.name_hint)
            made = generator.function(function.with_attr("global_symbol", symbol))
            name = f"relay.ext.{wanted[var.name_hint]}.{symbol}"
            code[name] = ExternalCode(_entry(made, symbol, wanted[var.name_hint]), name, made, _own_name(made, symbol))
            functions[var] = _calling(function, name)
    return infer_type(typed.with_functions(functions)), code


def _own_name(made: Any, symbol: str) -> str:
    """What the code is called in what a generator gave: a module of one kernel has that whatever its name is."""
    kernels = getattr(made, "kernels", None)
    return next(iter(kernels)) if kernels is not None and len(kernels) == 1 else symbol


def _entry(made: Any, symbol: str, compiler: str) -> Callable[..., Any]:
    """The code of one function in what a generator gave."""
    get = getattr(made, "get_function", None)
    found = get(_own_name(made, symbol)) if callable(get) else made
    if not callable(found):
        message = f"relay.ext.{compiler} gave a {type(made).__name__}, which is not code for {symbol}"
        help = f"give a runtime module that has {symbol!r} (tvm.build(..., name={symbol!r})), or a callable"
        raise fail("api", message, help=help)
    code: Callable[..., Any] = found
    return code


def _calling(function: Function, name: str) -> Function:
    """A function of the same type that calls the packed function `name`."""
    params = [Var(p.name_hint, p.checked_type) for p in function.params]
    tensors: list[Any] = []
    for param in params:
        tensors += _tensors(param, param.type_annotation, name)
    result = to_info(function.checked_type.ret_type)

    def decompose(builder: Any, args: Any, attrs: Any, out: Any) -> Any:
        parts = (rx.ExternFunc(name), rx.Tuple(tuple(args)))
        return rx.Call(special_op("call_dps_packed"), parts, None, (relax_from_info(out),))

    definition: OpDef[Any] = OpDef(
        name,
        OpenAttrs,
        inputs=tuple(Input(f"x{i + 1}") for i in range(len(tensors))),
        infer=lambda call: result,
        compute=NotApplicable(_WHY),
        reference=NotApplicable(_WHY),
        decompose=decompose,
        fusion=Fusion.OPAQUE,
        in_relax=False,
        pure=False,
        summary=f"Calls {name}.",
    )
    return Function(params, Call(definition.relay_op, tuple(tensors)), function.checked_type.ret_type)


def _tensors(value: Any, type_: Any, name: str) -> list[Any]:
    """The tensors that a value consists of."""
    found: list[Any] = []
    work = [(value, type_)]
    while work:
        expr, said = work.pop()
        match said:
            case TensorType():
                found.append(expr)
            case TupleType():
                work += [(TupleGetItem(expr, i), field) for i, field in reversed(list(enumerate(said.fields)))]
            case _:
                raise fail(
                    "api",
                    f"@{name} has parameters that external code cannot take:  {said}",
                    help="tensors, or tuples of them",
                )
    return found


__all__ = ["hand_over"]
