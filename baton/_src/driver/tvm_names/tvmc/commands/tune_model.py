"""`tvmc tune --target llvm --output records.sqlite model.onnx`."""

from __future__ import annotations

import argparse
from typing import Any

from baton._src.driver.tvm_names.tvmc import tuner
from baton._src.driver.tvm_names.tvmc.commands.shared_options import (
    add_model,
    add_target,
    add_transforms,
    model_of,
    target_options,
    transforms_of,
)

_STEERING = ("early-stopping", "min-repeat-ms", "number", "parallel", "repeat", "timeout")


def add(commands: Any) -> None:
    """The command and its options."""
    parser = commands.add_parser("tune", help="tune a model")
    parser.set_defaults(run=run)
    add_model(parser)
    add_target(parser)
    add_transforms(parser)
    parser.add_argument("-o", "--output", required=True, help="the file of records to write")
    parser.add_argument("--tuning-records", metavar="PATH", help="records that the search starts from")
    parser.add_argument("--trials", type=int, default=10000, help="most measurements of all kernels together")
    parser.add_argument("--tuner", default="xgb", help="accepted; there is one tuner")
    parser.add_argument("--enable-autoscheduler", action="store_true", help="accepted; there is one tuner")
    for name in _STEERING:
        parser.add_argument(f"--{name}", type=int, help="accepted; the tuner knows how to measure")
    parser.add_argument("--rpc-key", help="refused: kernels are measured on this machine")
    parser.add_argument("--rpc-tracker", help="refused, too")
    parser.add_argument("--tasks", dest="tasks_filter", default="all", help="anything but all is refused")


def run(options: argparse.Namespace) -> None:
    """Search and write."""
    tuner.tune_model(
        model_of(options),
        options.target,
        tuning_records=options.output,
        prior_records=options.tuning_records,
        rpc_key=options.rpc_key,
        hostname=options.rpc_tracker,
        trials=options.trials,
        tasks_filter=options.tasks_filter,
        additional_target_options=target_options(options),
        **transforms_of(options),
    )
