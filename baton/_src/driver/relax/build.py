"""Build an executable from a Relax module: passes, lowering, scheduling, code generation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from baton._src.codegen.c.module import c_source
from baton._src.codegen.llvm.module import CompileOptions, compile_kernels, sources
from baton._src.driver.added_passes import with_program_passes
from baton._src.driver.external_code import with_external_code
from baton._src.driver.intrinsic_rules import with_own_intrinsics
from baton._src.driver.kernel_scheduler import scheduler
from baton._src.driver.model.load import attach_operators
from baton._src.driver.relax.optimize import optimize
from baton._src.driver.relax.params import bind_params
from baton._src.driver.relax.signatures import signature_facts
from baton._src.driver.stages import Stages
from baton._src.driver.targets import built_target
from baton._src.driver.tuning_records.records import with_tunings
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.lower.native_control.native_control_flow import native_control_flow
from baton._src.lower.relax_to_vm.kernel_arguments import kernel_signature
from baton._src.lower.relax_to_vm.lower_module import lower_module
from baton._src.lower.relax_to_vm.program import Program
from baton._src.passes.shared.filled_arrays import filling
from baton._src.passes.tir.lowering.safe_selects import with_safe_kernels
from baton._src.relax.check.findings import Findings
from baton._src.relax.nodes import Function
from baton._src.relax.well_formed import check_entry, well_formed
from baton._src.relay.nodes import Function as RelayFunction
from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.native.kernel_function import KernelSignature
from baton._src.support.diagnostics import DiagnosticError, Severity, fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.kernel_abi import takes_tensors
from baton._src.tir.prim_func import PrimFunc, as_scheduled
from baton._src.transform.collector import rarely_collecting
from baton._src.values.packed_func import PROCESS_FUNCTIONS, ExternalCode

EXEC_MODES = ("compiled", "bytecode")


def relax_build(
    mod: IRModule | Function,
    target: Any = None,
    params: Mapping[str, Any] | None = None,
    pipeline: Any = "default_build",
    exec_mode: str = "compiled",
    system_lib: bool | None = None,
    *,
    stages: Stages | None = None,
    options: CompileOptions | None = None,
) -> Executable:
    """Compile a Relax module (or function, which becomes `main`).

    `params` binds parameters of `main` by name to constants. `pipeline` is a name, a pass, or None for a module that is
    lowered already. `exec_mode`: "compiled" runs dataflow functions as one native entry; "bytecode" runs every kernel
    call and check as a VM instruction, for looking into a program. `system_lib` is accepted for scripts written for
    TVM; there is nothing it could change here.
    """
    if exec_mode not in EXEC_MODES:
        raise fail("api", f"unknown exec_mode {exec_mode!r}", help=f"one of {', '.join(EXEC_MODES)}")
    module = _with_an_entry(as_module(mod))
    found = built_target(target)
    noted = stages or Stages()
    with _told_of_programs(module), rarely_collecting(), with_tunings(found), filling():
        noted.note("input", module)
        module = with_safe_kernels(module)
        if params:
            module = bind_params(module, "main", params)
        module = with_program_passes(optimize(module, found, pipeline, noted.note))
        in_c = str(found.kind) == "c"
        lowered = module if in_c or exec_mode != "compiled" else native_control_flow(module, Analyzer())
        chosen = options or CompileOptions()
        program = lower_module(lowered, exec_mode == "compiled", spoils=chosen.checked)
        facts = {"target": str(found), "exec_mode": exec_mode, "signatures": signature_facts(module)}
        text = {"ir_text": lambda: module_text(module)}
        executable = attach_operators(emit_program(program, found, chosen, noted, text, facts=facts), found)
        return with_external_code(executable, _external(executable))


def _external(executable: Executable) -> dict[str, ExternalCode]:
    """The code that `RunCodegen` registered for the program, by the names that it is called by."""
    called = {entry.name: PROCESS_FUNCTIONS.get(entry.name) for entry in executable.functions if entry.kind == "packed"}
    return {name: found for name, found in called.items() if isinstance(found, ExternalCode)}


@contextmanager
def _told_of_programs(module: IRModule) -> Iterator[None]:
    """If a build fails because the program is not well-formed, report what is wrong with the program.

    This is only checked after a failure: scripts are checked when they are parsed, so only programs built node by node
    can be ill-formed.
    """
    try:
        yield
    except DiagnosticError:
        raise
    except Exception as error:
        faults = [d for d in well_formed(module) if d.severity is Severity.ERROR]
        if not faults:
            raise
        raise DiagnosticError(faults) from error


def _with_an_entry(module: IRModule) -> IRModule:
    """Refuse a module of Relay, and one with private functions only: that is well-formed, but nothing in it could be
    called."""
    foreign = next((v for v, f in module.functions.items() if isinstance(f, RelayFunction)), None)
    if foreign is not None:
        help = "relay.build takes modules of Relay; relax.from_relay turns them into Relax"
        raise fail("api", f"@{foreign.name_hint} is a function of Relay", help=help, span=foreign.span)
    findings = Findings()
    check_entry(module, findings)
    if findings.diagnostics:
        raise DiagnosticError(findings.diagnostics)
    return module


def module_text(module: IRModule) -> str:
    """The program as people read it; empty while no printer is bound (`wiring`)."""
    return repr(module) if type(module).text is not None else ""


def as_module(mod: IRModule | Function) -> IRModule:
    """The module; a function becomes the public `main` of a new one."""
    if isinstance(mod, IRModule):
        chosen = {v: as_scheduled(f) for v, f in mod.functions.items() if isinstance(f, PrimFunc) and f.loops_chosen}
        return mod.with_functions({**mod.functions, **chosen}) if chosen else mod
    if isinstance(mod, Function):
        name = str(mod.attrs.get("global_symbol", "main"))
        return IRModule({name: mod.with_attr("global_symbol", name)})
    raise fail("api", f"cannot build a {type(mod).__name__}", help="give an IRModule or a Relax function")


def _public_kernels(program: Program) -> dict[str, KernelSignature]:
    """The kernels with a `global_symbol` that can be called with tensors and scalars only, by that name."""
    return {
        str(func.attrs["global_symbol"]): kernel_signature(var.name_hint, func)
        for var, func in program.kernels.items()
        if "global_symbol" in func.attrs and takes_tensors(func)
    }


def emit_program(
    program: Program,
    target: Target,
    options: CompileOptions | None,
    stages: Stages,
    texts: Mapping[str, Callable[[], str]],
    **parts: Any,
) -> Executable:
    """Schedule and compile the kernels and entries of `program`, and put the executable together. Parts that are
    `texts` are written meanwhile, by whichever process has the time.
    """
    functions = with_own_intrinsics({v.name_hint: f for v, f in program.kernels.items()}) | program.entries
    code, made = b"", texts
    if functions and str(target.kind) == "c":
        source = c_source(functions, target, scheduler(target), program.entries, exported=functions)
        parts["c_code"] = source.text
        parts["facts"] = {**parts.get("facts", {}), "schedules": source.rules}
        stages.rules.update(source.rules)
    elif functions:
        beside = {name: lambda text=text: text().encode() for name, text in texts.items()}
        found = compile_kernels(functions, target, options, scheduler(target), program.entries, beside)
        code, made = found.code, {name: text.decode for name, text in found.beside.items()}
        stages.rules.update(found.rules)
        parts["facts"] = {**parts.get("facts", {}), "schedules": found.rules}
    parts |= {name: text() for name, text in made.items()}
    signatures = {v.name_hint: kernel_signature(v.name_hint, f) for v, f in program.machine_kernels.items()}
    parts["public_kernels"] = _public_kernels(program)

    def listing(fmt: str) -> str:
        checked = (options or CompileOptions()).checked
        return "\n\n".join(sources(functions, target, fmt, checked, scheduler(target)))

    parts |= {"natives": program.natives, "kernels": signatures, "object_code": code, "listing": listing}
    return program.builder.get(**parts)
