"""`tvmc micro`: projects for bare devices, which baton makes no code for."""

from __future__ import annotations

import argparse
from typing import Any

from baton._src.driver.tvm_names.tvmc.errors import refuse


def add(commands: Any) -> None:
    """The command; whatever follows it is taken, and refused with the reason."""
    parser = commands.add_parser("micro", help="refused: there is no code for bare devices", add_help=False)
    parser.set_defaults(run=run)
    parser.add_argument("rest", nargs=argparse.REMAINDER)


def run(options: argparse.Namespace) -> None:
    """Say so."""
    raise refuse("baton generates code for processes, not for bare devices", "tvmc compile makes packages for CPUs")
