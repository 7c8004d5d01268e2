"""The command `baton`: its verbs. A verb's module is imported when the verb is used, so that `--help` is fast."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from baton._src.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Verb:
    """A command: its name, the module and function that do it, and the line that `baton --help` shows."""

    name: str
    module: str
    function: str
    help: str


VERBS = (
    Verb("compile", "compile_", "compile_", "Compile MODEL for this machine and write an artifact."),
    Verb("run", "run", "run", "Run MODEL on inputs from a file and print (or write) its outputs."),
    Verb("bench", "bench", "bench", "Measure MODEL in interleaved rounds and print medians and ratios."),
    Verb("tune", "tune", "tune", "Search schedule choices for the kernels of MODEL by measuring."),
    Verb("inspect", "inspect_", "inspect", "Show inputs, outputs, stages, kernels and memory plan of MODEL."),
    Verb("replay", "replay", "replay", "Run the failing pass of a reproducer again, and those after it."),
    Verb("doctor", "doctor", "doctor", "Print processor features, threads, versions and the cache."),
)


_HELP = {"help_option_names": ["-h", "--help"]}


class VerbGroup(TyperGroup):
    """Lists verbs from the table; loads the one that is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        verb = next((v for v in VERBS if v.name == name), None)
        return name, command if verb is None else load(verb), rest


def load(verb: Verb) -> Any:
    """The real command of a verb."""
    module = importlib.import_module(f"baton._src.tools.{verb.module}")
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command(verb.name, context_settings=_HELP)(getattr(module, verb.function))
    return typer.main.get_command(single)


app = typer.Typer(
    name="baton",
    cls=VerbGroup,
    help="Compile deep-learning models (ONNX, PyTorch, Relay, Relax) to native code and run them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings=_HELP,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata  # slow to import, and rarely asked for

        typer.echo(f"baton {metadata.version('baton')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_print_version)] = False,
) -> None:
    """Options of the program itself, before the command."""


def _listed() -> None:
    """A placeholder in the list of commands; `VerbGroup` replaces it by the real command."""


for _verb in VERBS:
    app.command(_verb.name, help=_verb.help)(_listed)
