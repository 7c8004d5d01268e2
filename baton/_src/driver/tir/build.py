"""`tvm.build`: compiles single kernels, which are called on tensors.

add = te.compute((n,), lambda i: a[i] + b[i])
module = tvm.build(te.create_prim_func([a, b, add]))
module(x, y, out)                       or module["main"], module.entry_name, module.export_library(path)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.codegen.c.module import c_source
from baton._src.codegen.llvm.module import compile_kernels, sources
from baton._src.driver.added_passes import with_added_passes
from baton._src.driver.c_module import CSourceModule
from baton._src.driver.intrinsic_rules import with_own_intrinsics
from baton._src.driver.kernel_module import KernelModule, kernel_module
from baton._src.driver.kernel_scheduler import scheduler
from baton._src.driver.relax.build import relax_build
from baton._src.driver.targets import built_target
from baton._src.driver.tir.kernel_entries import (
    inline_returning,
    with_compact_params,
    with_result_buffer,
)
from baton._src.driver.wiring import wire
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.relax_to_vm.kernel_arguments import kernel_signature
from baton._src.passes.tir.lowering.safe_selects import with_safe_selects
from baton._src.relax.nodes import Function
from baton._src.runtime.executable.executable import Executable
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.te.apply_schedule import scheduled_prim_func
from baton._src.te.prim_func import create_prim_func
from baton._src.te.schedule import Schedule
from baton._src.te.tensor import Tensor
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.analysis.outside_indices import outside_indices
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.expr import Call, Var
from baton._src.tir.kernel_abi import takes_tensors
from baton._src.tir.prim_func import PrimFunc, as_scheduled
from baton._src.values.dtype import DataType


def build(
    inputs: Any,
    args: Any = None,
    target: Any = None,
    target_host: Any = None,
    runtime: Any = None,
    name: str = "default_function",
    binds: Any = None,
) -> KernelModule | CSourceModule | Executable:
    """Compile a PrimFunc, a module of them (or ``{target: module}``), or `te` tensors (inputs and outputs, in the order
    they are passed). The kernel of tensors is called `name`, as is a PrimFunc without a `global_symbol`.

    `binds` gives tensors buffers that stand for them in `args`. `target_host` must be a CPU, whatever its options.
    `runtime` is accepted for scripts written for TVM: there is one.

    Relax functions, and modules that contain any, are built by `relax_build` and give an `Executable`. A PrimFunc that
    was not scheduled by hand gets a schedule for the target. Raises `DiagnosticError` for kernels that are not
    well-formed, or certainly use elements outside of their buffers.
    """
    wire()
    if isinstance(inputs, Mapping):
        if len(inputs) != 1:
            raise fail("api", f"kernels are built for one target, got {len(inputs)}", help="build each by itself")
        ((target, inputs),) = inputs.items()
    found = built_target(args if target is None and isinstance(args, (str, Target)) else target, target_host)
    if _is_relax(inputs):
        return relax_build(inputs, found)
    given = _functions(inputs, _unbound(args, binds), name)
    if not given and isinstance(inputs, IRModule) and inputs.functions:
        raise fail("api", "the module has no kernels to build", help="functions of Relay are built by relay.build")
    lowered = with_added_passes(given)
    functions = {symbol: as_scheduled(func) for symbol, func in lowered.items()}
    symbols = {str(f.attrs["global_symbol"]): n for n, f in functions.items() if f.attrs.get("global_symbol", n) != n}
    _require_sound(functions)
    functions = with_own_intrinsics(functions)
    functions = inline_returning({n: with_safe_selects(f) for n, f in functions.items()})
    inner = _called(functions)
    results = _make_entries(functions, inner)
    if str(found.kind) == "c":
        return _in_c(functions, found, inner, results, symbols)
    code = compile_kernels(functions, found, None, scheduler(found)).code if functions else b""
    shown = {n: f for n, f in functions.items() if n not in inner or takes_tensors(f)}

    def listing(fmt: str) -> str:
        return "\n\n".join(sources(functions, found, fmt, scheduler=scheduler(found)) if functions else [])

    signatures = {n: kernel_signature(n, f) for n, f in shown.items()}
    return kernel_module(code, signatures, results, listing, symbols)


def _in_c(
    functions: dict[str, PrimFunc],
    target: Target,
    inner: set[str],
    results: dict[str, DataType],
    symbols: dict[str, str],
) -> CSourceModule:
    """Kernels as C; those that can be called from outside are called as their `global_symbol` says."""
    packed = {n: results.get(n) for n, f in functions.items() if takes_tensors(f) and n not in inner}
    called = {name: symbol for symbol, name in symbols.items()}
    source = c_source(functions, target, scheduler(target), packed=packed, called=called)
    return CSourceModule(source.text, tuple(called.get(name, name) for name in packed))


def _require_sound(functions: dict[str, PrimFunc]) -> None:
    """Require that kernels are well-formed and do not certainly use elements outside of their buffers."""
    faults = [d for n, f in functions.items() for d in check_prim_func(f, n)]
    faults = faults or [d for n, f in functions.items() for d in outside_indices(f, n)]
    if faults:
        raise DiagnosticError(faults)


def _make_entries(functions: dict[str, PrimFunc], inner: set[str]) -> dict[str, DataType]:
    """Let kernels other than the `inner` ones be called from outside; the dtypes of those that return a number."""
    results: dict[str, DataType] = {}
    for symbol, func in functions.items():
        if symbol not in inner:
            functions[symbol], dtype = with_result_buffer(with_compact_params(func))
            if dtype is not None:
                results[symbol] = dtype
    return results


def _called(functions: dict[str, PrimFunc]) -> set[str]:
    """The kernels that others call: they are called as they are."""
    nodes = (n for f in functions.values() for n in post_order(f.body))
    return {n.op.name_hint for n in nodes if isinstance(n, Call) and isinstance(n.op, GlobalVar)}


def lower(inp: Any, args: Any = None, name: str = "main", binds: Any = None, simple_mode: bool = False) -> IRModule:
    """The module of kernels that `build` would compile, before scheduling; `simple_mode` changes nothing."""
    del simple_mode
    wire()
    return IRModule(with_added_passes(_functions(inp, _unbound(args, binds), name)))


def schedule_to_module(sch: Schedule, args: Any = None, name: str = "main", binds: Any = None) -> IRModule:
    """The kernel of a schedule as it is, without the passes of the script's own that `lower` applies."""
    wire()
    return IRModule(_functions(sch, _unbound(args, binds), name))


def get_binds(
    args: Sequence[Any], compact: bool = False, binds: Mapping[Tensor, Buffer] | None = None
) -> tuple[dict[Tensor, Buffer], list[Any]]:
    """The buffers of tensors (those in `binds`, else new ones), and `args` with buffers in place of tensors.

    A new buffer of open sizes may be broadcast where its size is 1, unless `compact`.
    """
    found = dict(binds or {})
    for arg in args:
        if not isinstance(arg, (Tensor, Buffer, Var)):
            message = f"kernels take tensors, buffers and variables, not {type(arg).__name__}"
            raise fail("api", message, help="get_binds([A, B, n])", kind=ValueError)
        if isinstance(arg, Tensor) and arg not in found:
            is_open = any(isinstance(dim, Var) for dim in arg.shape)
            kind = "auto_broadcast" if is_open and not compact else ""
            found[arg] = decl_buffer(arg.shape, arg.dtype, arg.name, buffer_type=kind)
    return found, [found[arg] if isinstance(arg, Tensor) else arg for arg in args]


def _unbound(args: Any, binds: Mapping[Tensor, Buffer] | None) -> Any:
    """`args` with tensors in place of the buffers bound to them. Only dense buffers are what kernels take: others are
    refused (`api`)."""
    if not binds or not isinstance(args, (list, tuple)):
        return args
    for tensor, buffer in binds.items():
        if buffer.strides or not structural_equal(buffer.shape, tensor.shape):
            raise fail(
                "api", f"{tensor.name} is bound to a buffer of another shape or with strides", help="pass the tensor"
            )
    tensors = {buffer: tensor for tensor, buffer in binds.items()}
    return [tensors.get(arg, arg) if isinstance(arg, Buffer) else arg for arg in args]


def _functions(inputs: Any, args: Any, name: str) -> dict[str, PrimFunc]:
    if isinstance(inputs, PrimFunc):
        symbol = str(inputs.attrs.get("global_symbol", name))
        return {symbol: inputs}
    if isinstance(inputs, IRModule):
        return {v.name_hint: f for v, f in inputs.functions.items() if isinstance(f, PrimFunc)}
    tensors = inputs if _is_tensors(inputs) else args
    if isinstance(inputs, Schedule) and not tensors:
        raise fail("api", "a te schedule is built with its tensors", help="tvm.build(s, [A, B, C])")
    if isinstance(inputs, Schedule) and _is_tensors(tensors):
        return {name: scheduled_prim_func(inputs, list(tensors), name)}
    if _is_tensors(tensors):
        return {name: create_prim_func(list(tensors))}
    raise fail(
        "api",
        f"cannot build a {type(inputs).__name__}",
        help="give a PrimFunc, an IRModule of them, or a list of te tensors",
    )


def _is_relax(inputs: Any) -> bool:
    found = inputs.functions.values() if isinstance(inputs, IRModule) else [inputs]
    return any(isinstance(f, Function) for f in found)


def _is_tensors(value: Any) -> bool:
    return isinstance(value, Sequence) and bool(value) and all(isinstance(t, (Tensor, Var)) for t in value)
