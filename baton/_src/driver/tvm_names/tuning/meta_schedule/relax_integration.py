"""Tuning Relax programs: their kernels as tasks, records of those, and compiling with the records.

A module that calls kernels of its own (`R.call_tir`) has these as tasks, as in TVM; operators that are left in it
become kernels by compiling, and those are tasks as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from baton._src.driver.relax.build import as_module, relax_build
from baton._src.driver.relax.params import bind_params
from baton._src.driver.targets import chosen_target
from baton._src.driver.tuning_records.in_force import without_best_kernels
from baton._src.driver.tvm_names.tuning.meta_schedule.apply import with_best_kernels
from baton._src.driver.tvm_names.tuning.meta_schedule.database import Database, check_equality
from baton._src.driver.tvm_names.tuning.meta_schedule.extracted import ExtractedTask, extracted_task, tune_extracted
from baton._src.driver.tvm_names.tuning.program_kernels import ProgramKernel, is_measurable, program_kernels
from baton._src.driver.tvm_names.tuning.workloads import workload_key
from baton._src.driver.wiring import wire
from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.relax.nodes import Call, Function
from baton._src.runtime.executable.executable import Executable
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext

_CALLS = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad")


def extract_tasks(
    mod: IRModule | Function,
    target: Any,
    params: Mapping[str, Any] | None = None,
    module_equality: str = "structural",
) -> list[ExtractedTask]:
    """The kernels of a program that can be measured, each with the number of its calls."""
    wire()
    check_equality(module_equality)
    module, found = as_module(mod), chosen_target(target)
    if params:
        module = bind_params(module, "main", params)
    kernels = {workload_key(k.func): k for k in _own_kernels(module)}
    if _has_operators(module):
        with without_best_kernels():
            for kernel in program_kernels(lambda: relax_build(module, found)):
                kernels.setdefault(workload_key(kernel.func), kernel)
    return [extracted_task(kernel, found) for kernel in kernels.values()]


def _calls(module: IRModule) -> Iterator[Call]:
    for function in module.functions.values():
        if isinstance(function, Function):
            yield from (node for node in post_order(function) if isinstance(node, Call))


def _own_kernels(module: IRModule) -> list[ProgramKernel]:
    """The kernels that the module calls and has itself; equal ones are one."""
    found: dict[str, ProgramKernel] = {}
    callees = [c.args[0] for c in _calls(module) if isinstance(c.op, Op) and c.op.name in _CALLS]
    for callee, weight in Counter(v.name_hint for v in callees if isinstance(v, GlobalVar)).items():
        func = module[callee]
        if isinstance(func, PrimFunc) and is_measurable(func) and (key := workload_key(func)):
            known = found.get(key)
            found[key] = ProgramKernel(callee, func, weight + (known.weight if known else 0))
    return list(found.values())


def _has_operators(module: IRModule) -> bool:
    """Whether operators are left that compiling makes kernels of."""
    operators = {c.op.name for c in _calls(module) if isinstance(c.op, Op)}
    return any(name not in _CALLS and not name.startswith(("relax.memory.", "relax.vm.")) for name in operators)


def tune_relax(
    mod: IRModule | Function,
    params: Mapping[str, Any] | None,
    target: Any,
    work_dir: str | Path,
    max_trials_global: int,
    *,
    op_names: Sequence[str] | None = None,
    module_equality: str = "structural",
    **options: Any,
) -> Database:
    """Tune the kernels of a program (`op_names`: only those with such a part in their names).

    `options` are those of `tune_extracted` (`space`, `strategy`, `seed`) and of `tune_tasks`.
    """
    every = extract_tasks(mod, target, params, module_equality)
    chosen = [t for t in every if op_names is None or any(name in t.task_name for name in op_names)]
    return tune_extracted(
        chosen, work_dir, max_trials_global=max_trials_global, module_equality=module_equality, **options
    )


def compile_relax(
    database: Database,
    mod: IRModule | Function,
    target: Any,
    params: Mapping[str, Any] | None,
    enable_warning: bool = False,
) -> Executable:
    """Compile a program with the records of a database."""
    wire()
    module, found = as_module(mod), chosen_target(target)
    if params:
        module = bind_params(module, "main", params)
    with found, database, PassContext(opt_level=3):
        return relax_build(with_best_kernels(module, database.best, enable_warning), found)
