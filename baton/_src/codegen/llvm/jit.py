"""LLVM itself: text in, object code out."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import fields
from functools import lru_cache

import llvmlite.binding as llvm

from baton._src.codegen.llvm.addressing.single_lanes import stores_narrow_lanes, with_single_lanes
from baton._src.ir.cpu import NAMED
from baton._src.ir.target import Target, arch_of
from baton._src.runtime.processor import host_flags
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import InternalError, fail
from baton._src.support.suggestions import did_you_mean_words


@dataclass(frozen=True)
class Machine:
    """What LLVM must know about the target; hashable, and part of cache keys."""

    triple: str
    cpu: str
    features: str
    level: int = 3

    @staticmethod
    def of(target: Target, level: int = 3) -> Machine:
        """The LLVM description of a target."""
        initialize()
        if target.is_host:
            triple, cpu, features = _host()
            _check_features(target.mattr, triple)
            return Machine(triple, cpu, ",".join((features, *target.mattr)), level)
        triple = target.mtriple or llvm.get_process_triple()
        name = target.mcpu if target.mcpu not in ("", "native") else "generic"
        _check_triple(triple)
        _check_processor(name, triple)
        _check_features(target.mattr, triple)
        return Machine(triple, name, ",".join(target.mattr), level)


@lru_cache(maxsize=1)
def _host() -> tuple[str, str, str]:
    """This machine's triple, CPU and features."""
    flags = (("+" if present else "-") + name for name, present in sorted(host_flags().items()))
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), ",".join(flags)


def _check_triple(triple: str) -> None:
    try:
        llvm.Target.from_triple(triple)
    except RuntimeError as error:
        help = "e.g. -mtriple=x86_64-linux-gnu or -mtriple=aarch64-linux-gnu"
        raise fail("target-triple", f"LLVM makes no code for {triple!r}", help=help) from error


def _check_features(flags: Sequence[str], triple: str) -> None:
    """Refuse flags that LLVM does not know: it would leave them out, and print that for every module."""
    names = [flag.lstrip("+-") for flag in flags]
    if all(name in host_flags() for name in names):
        return  # of this machine's architecture or alike, without asking another process
    known = _listed(triple, "features")
    for name in names:
        if known and name not in known:
            help = did_you_mean_words(name, sorted(known), "leave it out of -mattr")
            raise fail("target-attribute", f"LLVM knows no feature {name!r} of {triple}", help=help)


def _check_processor(name: str, triple: str) -> None:
    """Refuse a CPU that LLVM does not know: LLVM would print that for every module, and terminate the process."""
    if name == "generic" or (name in NAMED and NAMED[name].arch == arch_of(triple)):
        return
    if name in NAMED:
        help = f"-mtriple={NAMED[name].arch}-linux-gnu" if triple == llvm.get_process_triple() else "leave -mcpu out"
        raise fail("target-cpu", f"{name} is a CPU of {NAMED[name].arch}, and the code is for {triple}", help=help)
    known = _listed(triple, "CPUs")
    if known and name not in known:
        help = did_you_mean_words(name, sorted(known), "leave -mcpu out for the CPU of this machine")
        raise fail("target-cpu", f"LLVM knows no CPU {name!r} of {triple}", help=help)


_LIST_PROCESSORS = """
import sys, llvmlite.binding as llvm
llvm.initialize_all_targets(), llvm.initialize_all_asmprinters()
llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu="help")
"""


@lru_cache(maxsize=8)
def _listed(triple: str, what: str) -> frozenset[str]:
    """LLVM's names of the `CPUs` or `features` of a target; empty if it does not print them."""
    listed = _help(triple).partition(f"Available {what}")[2].partition("Available ")[0]
    return frozenset(re.findall(r"^ +(\S+) +- ", listed, re.MULTILINE))


@lru_cache(maxsize=4)
def _help(triple: str) -> str:
    """What LLVM knows about a target, which it only prints to standard error."""
    command = [sys.executable, "-c", _LIST_PROCESSORS, triple]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def target_text(target: Target) -> str:
    """Everything about a target that schedules and code generation may depend on."""
    cpu = target.cpu
    facts: list[object] = [
        sorted(v) if isinstance(v, frozenset) else v for v in (getattr(cpu, f.name) for f in fields(cpu))
    ]
    return repr((str(target), target.num_cores, facts))


@lru_cache(maxsize=1)
def initialize() -> None:
    """Make every target of this LLVM available."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@lru_cache(maxsize=16)
def target_machine(machine: Machine) -> llvm.TargetMachine:
    """LLVM's target machine; one per process and target.

    At level 1 instructions are chosen and registers allocated the simple way, in a tenth of the time.
    """
    initialize()
    effort = machine.level if machine.level > 1 else 0
    return llvm.Target.from_triple(machine.triple).create_target_machine(
        cpu=machine.cpu, features=machine.features, opt=effort, reloc="pic", codemodel="default"
    )


def compile_text(text: str, machine: Machine, vectorise: bool = False) -> bytes:
    """Optimise a module and emit it as a relocatable object. `vectorise`: loops may become vectors, and be unrolled."""
    module, target = _optimised(text, machine, vectorise)
    code: bytes = target.emit_object(module)
    return code


def assembly(text: str, machine: Machine, vectorise: bool = False) -> str:
    """The same as readable assembly (for tests and `baton inspect`)."""
    module, target = _optimised(text, machine, vectorise)
    found: str = target.emit_assembly(module)
    return found


def _optimised(text: str, machine: Machine, vectorise: bool) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    target = target_machine(machine)
    header = f'target triple = "{machine.triple}"\ntarget datalayout = "{target.target_data}"\n'
    try:
        module = llvm.parse_assembly(header + text)
        module.verify()
    except RuntimeError as error:
        raise InternalError(f"code generation wrote LLVM IR that LLVM rejects: {error}") from error
    _optimise(module, target, machine.level)
    if vectorise and machine.level > 1:
        _vectorise(module, target, machine.level)
    if stores_narrow_lanes(text):  # LLVM's code for some of them is wrong
        module = llvm.parse_assembly(with_single_lanes(str(module)))
    return module, target


def _optimise(module: llvm.ModuleRef, target: llvm.TargetMachine, level: int) -> None:
    """Optimise each function separately, then inline the helpers into their callers.

    A polynomial is then simplified once instead of again in each of dozens of copies, and no other interprocedural work
    is needed: this takes half the time of LLVM's pipeline for modules, and the code is the same.
    """
    # A rule's schedule decides what is vectorised and unrolled; LLVM's own attempts cost compile time and undo tiling.
    options = llvm.create_pipeline_tuning_options(level)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(target, options)
    simplify = builder.getFunctionPassManager() if level > 1 else _few_passes()
    for function in module.functions:
        if not function.is_declaration:
            simplify.run(function, builder)
    inline = llvm.create_new_module_pass_manager()
    inline.add_always_inliner_pass()
    inline.run(module, builder)


def _vectorise(module: llvm.ModuleRef, target: llvm.TargetMachine, level: int) -> None:
    """LLVM's whole pipeline, for code whose loops no rule of ours has chosen: a third of the time for such loops."""
    options = llvm.create_pipeline_tuning_options(level)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = True
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)


def _few_passes() -> llvm.FunctionPassManager:
    """What makes registers of arrays on the stack, and simplifies: a tenth of the time of all passes for code with many
    tests, each of which is one more way out of a loop.
    """
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes
