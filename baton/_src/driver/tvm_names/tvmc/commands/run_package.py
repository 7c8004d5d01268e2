"""`tvmc run --inputs imagenet_cat.npz --output predictions.npz module.tar`."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from baton._src.driver.tvm_names.tvmc.errors import refuse
from baton._src.driver.tvm_names.tvmc.inputs import FILL_MODES
from baton._src.driver.tvm_names.tvmc.package import TVMCPackage
from baton._src.driver.tvm_names.tvmc.result import get_top_results
from baton._src.driver.tvm_names.tvmc.runner import run_module
from baton._src.support.damaged_files import DAMAGE
from baton._src.values.tensor import AnyArray


def add(commands: Any) -> None:
    """The command and its options."""
    parser = commands.add_parser("run", help="run a compiled module")
    parser.set_defaults(run=run)
    parser.add_argument("PATH", help="path to the package of tvmc compile")
    parser.add_argument("--device", default="cpu", help="cpu, where packages run")
    parser.add_argument("--fill-mode", choices=FILL_MODES, default="random", help="of inputs that are not given")
    parser.add_argument("-i", "--inputs", help="path to the .npz input file")
    parser.add_argument("-o", "--outputs", help="path to the .npz output file")
    parser.add_argument("--print-time", action="store_true", help="measure runs and print their times")
    parser.add_argument("--print-top", metavar="N", type=int, help="print the top n values and their places")
    parser.add_argument("--profile", action="store_true", help="print the time of every kernel")
    parser.add_argument("--end-to-end", action="store_true", help="measure setting the inputs, too")
    parser.add_argument("--repeat", metavar="N", type=int, default=1, help="how many measurements; default: 1")
    parser.add_argument("--number", metavar="N", type=int, default=1, help="how many runs in each; default: 1")
    parser.add_argument("--rpc-key", help="of the servers, one of which is to run it")
    parser.add_argument("--rpc-tracker", metavar="HOST:PORT", help="the tracker that knows them; port: 9090 by default")


def run(options: argparse.Namespace) -> None:
    """Run, print what was asked for, write the outputs."""
    host, _, port = (options.rpc_tracker or "").partition(":")
    if port and not port.isdigit():
        raise refuse(f"{options.rpc_tracker!r} is not HOST:PORT", "--rpc-tracker board:9190")
    result = run_module(
        TVMCPackage(options.PATH),
        options.device,
        hostname=host or None,
        port=port or 9090,
        rpc_key=options.rpc_key,
        inputs=_arrays(options.inputs) if options.inputs else None,
        fill_mode=options.fill_mode,
        benchmark=options.print_time,
        repeat=options.repeat,
        number=options.number,
        profile=options.profile,
        end_to_end=options.end_to_end,
    )
    if options.print_time:
        print(result.format_times())
    if options.print_top:
        print(get_top_results(result, options.print_top))
    if options.outputs:
        result.save(options.outputs)


def _arrays(path: str) -> dict[str, AnyArray]:
    help = "write it with numpy.savez(path, input_name=array)"
    try:
        with np.load(path, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except AttributeError as error:
        raise refuse(f"Error loading inputs file: {path} holds one array without a name", help) from error
    except (*DAMAGE, OSError, TypeError) as error:
        raise refuse(f"Error loading inputs file: {error}", help) from error
