"""`python -m tvm.driver.tvmc compile|run|tune`: what was written becomes a call, and errors an exit status."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from baton._src.driver.tvm_names.tvmc.commands import compile_model, micro, run_package, tune_model
from baton._src.support.diagnostics import BatonError

API_VERSION = "0.19.0"
"""The version of TVM whose command line this is."""
USER_ERROR = 4
"""TVM's exit status for what a user did wrong."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tvmc", description="TVM compiler driver, on baton", epilog="TVMC - TVM driver command-line interface"
    )
    parser.add_argument("-v", "--verbose", action="count", default=0, help="accepted, without effect")
    parser.add_argument("--version", action="version", version=API_VERSION)
    commands = parser.add_subparsers(title="commands")
    for command in (micro, run_package, tune_model, compile_model):
        command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit status: 0, or 4 for what cannot be done, which is told on the standard error."""
    parser = _parser()
    options = parser.parse_args(sys.argv[1:] if argv is None else list(argv))
    if "run" not in options:
        parser.print_help(sys.stderr)
        return 1
    try:
        options.run(options)
    except BatonError as error:
        sys.stderr.write(f"{error}\n")
        return USER_ERROR
    except OSError as error:
        sys.stderr.write(f"error[file]: {error}\n")
        return USER_ERROR
    return 0
