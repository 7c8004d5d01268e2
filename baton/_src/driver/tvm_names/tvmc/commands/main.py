"""`python -m tvm.driver.tvmc compile|run|tune`: what was written becomes a call, and errors an exit status."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from baton._src.driver.tvm_names.tvmc.commands import compile_model, micro, run_package, tune_model
from baton._src.driver.tvm_names.tvmc.errors import TVMCImportError
from baton._src.support.diagnostics import BatonError

API_VERSION = "0.19.0"
"""The version of TVM whose command line this is."""
USER_ERROR, NOT_INSTALLED = 4, 5
"""TVM's exit statuses for what a user did wrong, and for a package that is missing."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tvmc", description="TVM compiler driver, on baton", epilog="TVMC - TVM driver command-line interface"
    )
    parser.add_argument("-v", "--verbose", action="count", default=0, help="accepted, without effect")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(title="commands")
    for command in (micro, run_package, tune_model, compile_model):
        command.add(commands)
    return parser


def main() -> NoReturn:
    """Run the command of this process's arguments, and exit."""
    sys.exit(_main(sys.argv[1:]))


def _main(argv: Sequence[str]) -> int:
    """Run a command; the exit status: 0, or another for what cannot be done, which is told on the standard error."""
    parser = _parser()
    options = parser.parse_args(list(argv))
    if options.version:
        sys.stdout.write(f"{API_VERSION}\n")
        return 0
    if "run" not in options:
        parser.print_help(sys.stderr)
        return 1
    try:
        options.run(options)
    except TVMCImportError as error:
        sys.stderr.write(f"{error}\n")
        return NOT_INSTALLED
    except BatonError as error:
        sys.stderr.write(f"{error}\n")
        return USER_ERROR
    except OSError as error:
        sys.stderr.write(f"error[file]: {error}\n")
        return USER_ERROR
    return 0
