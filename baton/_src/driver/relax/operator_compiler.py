"""Operators whose rank or dtype was unknown when compiling: compiled on first use, and cached.

The key is (operator, attributes, shapes and dtypes of the arguments). Operators that cannot be compiled (no kernel,
results whose shape depends on the data) are evaluated by their NumPy reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton._src.codegen.llvm.module import compile_kernels
from baton._src.driver.intrinsic_rules import with_own_intrinsics
from baton._src.driver.kernel_scheduler import scheduler
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.ir.target import Target
from baton._src.lower.relax_to_vm.kernel_arguments import kernel_signature
from baton._src.lower.relax_to_vm.lower_module import lower_module
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.literals import host_value
from baton._src.relax.nodes import Call, Function, ShapeExpr, StringImm, Tuple, Var
from baton._src.relax.struct_info import PrimStructInfo, StructInfo, TensorStructInfo
from baton._src.runtime.value_errors import describe
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.values.prim import prim_dtype
from baton._src.values.reference_values import from_reference, prim_from_reference, to_reference
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray

_REMEMBERED = 1024


class OperatorCompiler:
    """`compiler(name, attributes, args)` runs one operator on run-time values."""

    def __init__(self, target: Target | str) -> None:
        self.target = Target(target)
        self._known: dict[Any, Callable[..., Any]] = {}

    def __call__(self, name: str, attributes: Mapping[str, Any], args: Sequence[Any]) -> Any:
        key = (name, repr(sorted(attributes.items())), tuple(_key(a) for a in args))
        run = self._known.get(key)
        if run is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            run = self._known[key] = self._prepare(name, attributes, args)
        return run(*args)

    def _prepare(self, name: str, attributes: Mapping[str, Any], args: Sequence[Any]) -> Callable[..., Any]:
        definition: OpDef[Any] = CATALOGUE.get(name)
        attrs = definition.attrs(**{k: _frozen(v) for k, v in attributes.items()})
        module, tensors = self._module(definition, attrs, args)
        main = module["main"]
        if isinstance(main, Function) and not _has_operator(main):
            return self._compiled(module, tensors)
        return _reference(definition, attrs, main.ret_struct_info if isinstance(main, Function) else None)

    def _module(self, definition: OpDef[Any], attrs: Any, args: Sequence[Any]) -> tuple[IRModule, list[int]]:
        """A module whose `main` is the one call, legalised; and which arguments are its tensors."""
        builder = BlockBuilder()
        params: list[Var] = []
        operands = [_as_expr(a, f"x{i}", params) for i, a in enumerate(args)]
        with builder.function("main", tuple(params)):
            found = builder.emit(Call(definition.relax_op, operands, attrs))
            builder.emit_func_output(found)
        tensors = [i for i, a in enumerate(args) if _holds_tensors(a)]
        return LegalizeOps()(builder.get()), tensors

    def _compiled(self, module: IRModule, tensors: Sequence[int]) -> Callable[..., Any]:
        program = lower_module(module)
        functions = with_own_intrinsics({v.name_hint: f for v, f in program.kernels.items()}) | program.entries
        code = compile_kernels(functions, self.target, None, scheduler(self.target), program.entries).code
        signatures = {v.name_hint: kernel_signature(v.name_hint, f) for v, f in program.machine_kernels.items()}
        executable = program.builder.get(natives=program.natives, kernels=signatures, object_code=code)
        run = VirtualMachine(executable)["main"]
        return lambda *args: run(*[t for i in tensors for t in _tensors(args[i])])


def _reference(definition: OpDef[Any], attrs: Any, info: StructInfo | None) -> Callable[..., Any]:
    """The operator's NumPy reference; `info` is its result type for such arguments."""
    reference = definition.reference
    if isinstance(reference, NotApplicable):
        raise fail("operator-reference", f"{definition.name} cannot be run: {reference.why}")

    def run(*args: Any) -> Any:
        operands = [to_reference(a) for a in args]
        try:
            if isinstance(info, PrimStructInfo):
                return prim_from_reference(reference, operands, attrs, info.dtype)
            return from_reference(reference(operands, attrs), apart_from=operands)
        except DiagnosticError:
            raise
        except (ValueError, TypeError, IndexError) as error:
            given = ", ".join(map(describe, args))
            raise fail("operator-run", f"{definition.name} cannot be computed of {given}: {error}") from error

    return run


def _as_expr(value: Any, name: str, params: list[Var]) -> Any:
    """A run-time value as an argument: tensors become parameters, the rest literals."""
    if isinstance(value, NDArray):
        params.append(Var(name, TensorStructInfo(value.shape, value.dtype)))
        return params[-1]
    if isinstance(value, ShapeTuple):
        return ShapeExpr(value)
    if isinstance(value, tuple):
        return Tuple([_as_expr(v, f"{name}_{i}", params) for i, v in enumerate(value)])
    if isinstance(value, str):
        return StringImm(value)
    if prim_dtype(value) is not None:
        return host_value(value)
    raise fail("operator-argument", f"a {type(value).__name__} cannot be an argument of an operator")


def _has_operator(function: Function) -> bool:
    """Whether an operator is left that has no kernel."""
    calls = [b.value for block in function.body.blocks for b in block.bindings if isinstance(b.value, Call)]
    return any(isinstance(getattr(c.op, "definition", None), OpDef) for c in calls)


def _holds_tensors(value: Any) -> bool:
    return isinstance(value, NDArray) or (type(value) is tuple and any(_holds_tensors(v) for v in value))


def _tensors(value: Any) -> list[NDArray]:
    if isinstance(value, NDArray):
        return [value]
    return [t for v in value for t in _tensors(v)] if type(value) is tuple else []


def _key(value: Any) -> Any:
    if isinstance(value, NDArray):
        return value.shape, str(value.dtype)
    return tuple(_key(v) for v in value) if type(value) is tuple else (type(value).__name__, repr(value))


def _frozen(value: Any) -> Any:
    return tuple(_frozen(v) for v in value) if isinstance(value, list) else value
