"""`tvm.compile`, by which scripts for TVM newer than v0.19 build modules; `baton.compile` is another function.

executable = tvm.compile(mod, target="llvm")
relax.VirtualMachine(executable, tvm.cpu())["main"](x)
"""

from __future__ import annotations

from typing import Any

from baton._src.driver.c_module import CSourceModule
from baton._src.driver.kernel_module import KernelModule
from baton._src.driver.relax.build import as_module, relax_build
from baton._src.driver.tir.build import build
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.relax.nodes import Function
from baton._src.runtime.executable.executable import Executable
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.passes import Pass, Sequential


def compile_module(
    mod: Any, target: Any = None, *, relax_pipeline: Any = "default", tir_pipeline: Pass | str | None = "default"
) -> Executable | KernelModule | CSourceModule:
    """What `relax.build` makes of a Relax function or a module that has some, and `tvm.build` of kernels alone.

    `relax_pipeline` is a name or a pass, as in `relax.build`. `tir_pipeline` is a pass over the module's kernels, or
    "default", which is none. Error `api`: it is another name, or `mod` is none of these.
    """
    wire()
    module = _kernel_steps(tir_pipeline)(_as_module(mod))
    if any(isinstance(f, Function) for f in module.functions.values()):
        return relax_build(module, target, pipeline=relax_pipeline)
    return build(module, target=target)


def _as_module(mod: Any) -> IRModule:
    if isinstance(mod, (IRModule, Function)):
        return as_module(mod)
    if isinstance(mod, PrimFunc):
        name = str(mod.attrs.get("global_symbol", "main"))
        return IRModule({name: mod.with_attr("global_symbol", name)})
    help = "give an IRModule, a PrimFunc or a Relax function; baton.compile takes files and models"
    raise fail("api", f"tvm.compile cannot build a {type(mod).__name__}", help=help, kind=TypeError)


def _kernel_steps(pipeline: Pass | str | None) -> Pass:
    if isinstance(pipeline, str) and pipeline != "default":
        help = 'give a pass (tvm.transform.Sequential([...])), or "default"'
        raise fail("api", f"there is no pipeline of kernels {pipeline!r}", help=help, kind=ValueError)
    return Sequential([]) if pipeline is None or isinstance(pipeline, str) else pipeline
