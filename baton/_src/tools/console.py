"""Output of the commands: results on standard output, everything else on standard error, errors without tracebacks."""

from __future__ import annotations

import io
import json
import math
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from baton._src.support.diagnostics import BatonError, InternalError
from baton._src.support.progress import Step, reporting

F = TypeVar("F", bound=Callable[..., Any])
_AS_IT_IS: dict[str, Any] = {"highlight": False, "soft_wrap": True, "markup": False, "emoji": False}
"""Names and texts of a model may hold brackets and colons, which mean nothing here."""
OUT = Console(**_AS_IT_IS)
ERR = Console(stderr=True, **_AS_IT_IS)

USER_ERROR, INTERNAL_ERROR = 1, 2


def guarded(command: F) -> F:
    """A command whose errors are printed as diagnostics: exit status 1 for a user's mistake, 2 for a bug of baton's."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        _write_what_can_be_written()
        try:
            return command(*args, **options)
        except InternalError as error:
            ERR.print(Text(f"internal error: {error}", style="bold red"))
            raise typer.Exit(INTERNAL_ERROR) from error
        except BatonError as error:
            ERR.print(_coloured(str(error)))
            raise typer.Exit(USER_ERROR) from error
        except (BrokenPipeError, KeyboardInterrupt) as error:
            raise typer.Exit(130) from error
        except OSError as error:
            ERR.print(_coloured(f"error[file]: {error}"))
            raise typer.Exit(USER_ERROR) from error
        except MemoryError as error:
            ERR.print(_coloured(f"error[memory]: not enough memory: {error}"))
            raise typer.Exit(USER_ERROR) from error
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as error:
            _report_bug(error)
            raise typer.Exit(INTERNAL_ERROR) from error

    return cast(F, run)


def _write_what_can_be_written() -> None:
    """Characters that the output's encoding lacks are written as escapes: names of models are in any script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _report_bug(error: Exception) -> None:
    """Anything unforeseen is a bug of baton's: say where, in two lines; the traceback on request."""
    if os.environ.get("BATON_TRACEBACK"):
        raise error
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(last.filename)}:{last.lineno}"
    ERR.print(Text(f"internal error: {type(error).__name__}: {error} ({place})", style="bold red"))
    ERR.print("  help: this is a bug of baton; BATON_TRACEBACK=1 shows where it happened")


def _coloured(message: str) -> Text:
    text = Text(message)
    text.highlight_regex(r"(?m)^error\[[^\]]*\]", "bold red")
    text.highlight_regex(r"(?m)^warning\[[^\]]*\]", "bold yellow")
    text.highlight_regex(r"(?m)^ +help:", "bold cyan")
    text.highlight_regex(r"\^+", "bold red")
    return text


def print_json(facts: Any) -> None:
    """`facts` on standard output, for programs; NaN and infinity, which JSON lacks, are the texts "NaN", "Infinity"."""
    OUT.print(json.dumps(_in_json(facts), indent=2, allow_nan=False))


def _in_json(facts: Any) -> Any:
    if isinstance(facts, dict):
        return {key: _in_json(fact) for key, fact in facts.items()}
    if isinstance(facts, (list, tuple)):
        return [_in_json(fact) for fact in facts]
    if isinstance(facts, float) and not math.isfinite(facts):
        return "NaN" if math.isnan(facts) else "Infinity" if facts > 0 else "-Infinity"
    return facts


@contextmanager
def progress() -> Iterator[None]:
    """A bar for long work, on a terminal only; quiet otherwise."""
    if not sys.stderr.isatty():
        yield
        return
    named = TextColumn("{task.fields[item]}", markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(), named, TimeElapsedColumn())
    with Progress(*columns, console=ERR, transient=True) as bar:
        known: dict[str, Any] = {}

        def show(step: Step) -> None:
            if step.task not in known:
                known[step.task] = bar.add_task(step.task, total=step.total, item="")
            bar.update(known[step.task], completed=step.done, total=step.total, item=step.item)

        with reporting(show):
            yield
