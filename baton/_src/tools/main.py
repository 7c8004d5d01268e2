"""The command `baton`: its verbs."""

from __future__ import annotations

import typer

from baton._src.tools.bench import bench
from baton._src.tools.compile_ import compile_
from baton._src.tools.doctor import doctor
from baton._src.tools.inspect_ import inspect
from baton._src.tools.run import run

app = typer.Typer(
    name="baton",
    help="Compile deep-learning models (ONNX, Relay, Relax) to native code and run them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("compile")(compile_)
app.command("run")(run)
app.command("bench")(bench)
app.command("inspect")(inspect)
app.command("doctor")(doctor)
