"""`tvmc.compile`: a model becomes a package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from baton._src.driver.relay.build import GraphExecutorFactory
from baton._src.driver.relay.executable import build_executable
from baton._src.driver.relay.graph_fragment import as_graph
from baton._src.driver.stages import Stages
from baton._src.driver.tvm_names.tvmc.dumps import check_formats, write_dumps
from baton._src.driver.tvm_names.tvmc.errors import TVMCException, raising_tvmc, refuse
from baton._src.driver.tvm_names.tvmc.model import TVMCModel, check_model, check_packaging
from baton._src.driver.tvm_names.tvmc.package import TVMCPackage
from baton._src.driver.tvm_names.tvmc.pass_options import parse_configs, parse_pass_list_str
from baton._src.driver.tvm_names.tvmc.records import consulting_records
from baton._src.driver.tvm_names.tvmc.targets import target_from_cli
from baton._src.driver.tvm_names.tvmc.transform import GraphChanges
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import DiagnosticError
from baton._src.transform.context import PassContext
from baton._src.transform.instruments import PassPrintingInstrument, PassTimingInstrument


@raising_tvmc
def compile_model(
    tvmc_model: TVMCModel,
    target: Any,
    opt_level: int = 3,
    executor: Any = "graph",
    runtime: Any = "cpp",
    tuning_records: str | Path | None = None,
    package_path: str | Path | None = None,
    cross: Any = None,
    cross_options: str | None = None,
    output_format: str = "so",
    dump_code: str | Sequence[str] | None = None,
    dump_offloads: str = "",
    target_host: Any = None,
    disabled_pass: str | Sequence[str] | None = None,
    pass_context_configs: Sequence[str] | None = None,
    additional_target_options: Mapping[str, Mapping[str, Any]] | None = None,
    use_vm: bool = False,
    mod_name: str | None = "default",
    workspace_pools: Any = None,
    print_pass_times: bool = False,
    print_ir_before: str | Sequence[str] | None = None,
    print_ir_after: str | Sequence[str] | None = None,
    instruments: Sequence[Any] | None = None,
    desired_layout: str | Sequence[str] | None = None,
    desired_layout_ops: Sequence[str] | None = None,
    mixed_precision: bool = False,
    mixed_precision_ops: Sequence[str] | None = None,
    mixed_precision_calculation_type: str | None = None,
    mixed_precision_acc_type: str | None = None,
) -> TVMCPackage:
    """Compile a model and write a package, to `package_path` or beside the model.

    `tuning_records`: what `tvmc.tune` wrote. `output_format`: "so" or "tar", how the library in the package is called.
    `dump_code`: "relay", "tir", "ll", "asm" (for the target "c": "c"), written beside the package. `use_vm`: for
    programs with control flow or open sizes.
    `desired_layout`, `mixed_precision` and their options change the program first (`transform`).
    `print_pass_times`, `print_ir_before` and `print_ir_after` show the passes at work.

    `runtime` is accepted: there is one. `target_host` has to be a CPU. What asks for other compilers, libraries or bare
    devices (`cross`, `dump_offloads`, `workspace_pools`, "mlf") is a `TVMCException`.
    """
    wire()
    check_model(tvmc_model, "compile")
    check_packaging(cross, cross_options, output_format)
    _refuse_foreign(dump_offloads, workspace_pools)
    formats = check_formats(dump_code)
    found_target = target_from_cli(target, additional_target_options, target_host)
    kind = _executor(executor, use_vm)
    changes = GraphChanges(
        desired_layout, desired_layout_ops, mixed_precision, mixed_precision_ops, mixed_precision_calculation_type,
        mixed_precision_acc_type,
    )  # fmt: skip
    timing = [PassTimingInstrument()] if print_pass_times else []
    printing = PassPrintingInstrument(parse_pass_list_str(print_ir_before), parse_pass_list_str(print_ir_after))
    context = PassContext(
        opt_level,
        disabled_pass=parse_pass_list_str(disabled_pass),
        instruments=[*timing, printing, *(instruments or ())],
        config=parse_configs(pass_context_configs),
    )
    stages = Stages(keep="tir" in formats)
    with context, consulting_records(tuning_records, found_target):
        module = changes.apply(tvmc_model.mod, tvmc_model.params)
        restrict = None if kind == "vm" else _graph_fragment
        executable, bound = build_executable(module, found_target, tvmc_model.params, stages, restrict=restrict)
        for instrument in timing:
            print(f"Compilation time breakdown by pass:\n{instrument.render()}")
    factory = GraphExecutorFactory(executable, bound, mod_name or "default", module, found_target, executor)
    path = tvmc_model.export_package(factory, package_path, cross, cross_options, output_format)
    write_dumps(path, formats, module, executable, stages)
    return TVMCPackage(path)


def _refuse_foreign(offloads: str, pools: Any) -> None:
    """Refuse options that only other libraries or bare-metal devices support."""
    if offloads:
        raise refuse("baton generates all code itself: nothing is offloaded", "leave out dump_offloads")
    if pools:
        raise refuse("memory is planned for whole programs", "leave out workspace_pools")


def _graph_fragment(module: IRModule) -> IRModule:
    """The module as one that the graph executor runs; a refusal says which of tvmc's options help."""
    try:
        return as_graph(module)
    except DiagnosticError as error:
        way = "use_vm=True (--use-vm) runs it; sizes that are open may be given: shape_dict (--input-shapes)"
        known = [replace(d, help=way) if d.code == "graph-fragment" else d for d in error.diagnostics]
        raise TVMCException(*known) from error


_EXECUTORS = ("graph", "aot", "vm")


def _executor(executor: Any, use_vm: bool) -> str:
    kind = "vm" if use_vm else str(getattr(executor, "name", executor) or "graph")
    if kind not in _EXECUTORS:
        raise refuse(f"unknown executor {kind!r}", f"one of {', '.join(_EXECUTORS)}")
    return kind
