"""`tvmc compile --target llvm --output module.tar model.onnx`."""

from __future__ import annotations

import argparse
from typing import Any

from baton._src.driver.relay.build_options import Executor, Runtime
from baton._src.driver.tvm_names.tvmc import compiler
from baton._src.driver.tvm_names.tvmc.commands.shared_options import (
    add_model,
    add_target,
    add_transforms,
    model_of,
    target_options,
    transforms_of,
)


def add(commands: Any) -> None:
    """The command and its options."""
    parser = commands.add_parser("compile", help="compile a model")
    parser.set_defaults(run=run)
    add_model(parser)
    add_target(parser)
    add_transforms(parser)
    _add_output(parser)
    _add_building(parser)
    _add_passes(parser)
    parser.add_argument("-v", "--verbose", action="count", default=0, help="accepted, without effect")


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", default="module.tar", help="the package to write; default: module.tar")
    parser.add_argument("-f", "--output-format", choices=["so", "tar", "mlf"], default="so", help="of its library")
    parser.add_argument(
        "--dump-code", metavar="FORMAT", default="", help="texts to write beside it: relay,tir,ll,asm,c"
    )
    parser.add_argument("--dump-offloads", default="", help="refused: nothing is handed to other libraries")
    parser.add_argument("--module-name", default="default", help="the name of the module")


def _add_building(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cross-compiler", default="", help="refused: libraries are written without a compiler")
    parser.add_argument("--cross-compiler-options", default="", help="refused, too")
    parser.add_argument("--executor", choices=["graph", "aot"], default="graph", help="both run on the same executor")
    parser.add_argument("--runtime", choices=["cpp", "crt"], default="cpp", help="accepted; there is one runtime")
    for option in ("executor-graph-link-params", "executor-aot-link-params", "runtime-cpp-system-lib"):
        parser.add_argument(f"--{option}", metavar="0|1", help="accepted; changes nothing")
    parser.add_argument("--tuning-records", metavar="PATH", default="", help="what tvmc tune wrote")
    parser.add_argument("--use-vm", action="store_true", help="for control flow and open sizes")


def _add_passes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-O", "--opt-level", type=int, choices=range(4), default=3, metavar="[0-3]", help="default: 3"
    )  # fmt: skip
    parser.add_argument("--pass-config", action="append", metavar="NAME=VALUE", help="a setting; may be repeated")
    parser.add_argument("--disabled-pass", default="", help="names of passes to leave out, separated by commas")
    parser.add_argument("--print-pass-times", action="store_true", help="print how long each pass took")
    parser.add_argument("--print-ir-before", default="", help="print the program before these passes")
    parser.add_argument("--print-ir-after", default="", help="print the program after these passes")


def run(options: argparse.Namespace) -> None:
    """Compile and write."""
    compiler.compile_model(
        model_of(options),
        options.target,
        opt_level=options.opt_level,
        executor=Executor(options.executor),
        runtime=Runtime(options.runtime),
        tuning_records=options.tuning_records,
        package_path=options.output,
        cross=options.cross_compiler,
        cross_options=options.cross_compiler_options,
        output_format=options.output_format,
        dump_code=options.dump_code,
        dump_offloads=options.dump_offloads,
        disabled_pass=options.disabled_pass,
        pass_context_configs=options.pass_config,
        additional_target_options=target_options(options),
        use_vm=options.use_vm,
        mod_name=options.module_name,
        print_pass_times=options.print_pass_times,
        print_ir_before=options.print_ir_before,
        print_ir_after=options.print_ir_after,
        **transforms_of(options),
    )
