"""`baton replay FILE`: run the passes of a reproducer again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from baton._src.driver.replay import Replay
from baton._src.driver.replay import replay as run_again
from baton._src.tools.console import ERR, INTERNAL_ERROR, OUT, guarded
from baton._src.transform.reproducer import error_line


@guarded
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="the reproducer that an internal error names")],
    print_module: Annotated[bool, typer.Option("--print", help="print the module after the passes")] = False,
) -> None:
    """Run the passes of a reproducer again. Exit status 2 if one fails, 0 if all succeed."""
    outcome = run_again(file)
    if outcome.error is not None:
        _report(outcome, outcome.error)
        raise typer.Exit(INTERNAL_ERROR)
    OUT.print(f"{len(outcome.recorded.pipeline)} passes succeed; recorded: {outcome.recorded.failed} failed")
    if print_module:
        OUT.print(str(outcome.module))


def _report(outcome: Replay, error: Exception) -> None:
    if os.environ.get("BATON_TRACEBACK"):
        raise error
    ERR.print(f"{outcome.failed} fails: {error_line(error)}")
    ERR.print("as recorded" if outcome.is_same else f"recorded: {outcome.recorded.failed}: {outcome.recorded.error}")
    ERR.print("  help: BATON_TRACEBACK=1 shows where it happened")
