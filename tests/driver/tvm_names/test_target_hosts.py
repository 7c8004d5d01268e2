"""What calls kernels is a CPU: every function of TVM's that takes a `target_host` refuses others, as `build` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from baton import IRModule, auto_scheduler, autotvm, relay, te
from baton._src.support.diagnostics import DiagnosticError
from baton.driver import tvmc
from baton.driver.tvmc.model import TVMCModel


def program() -> Any:
    x = relay.var("x", shape=(3,))
    return relay.Function([x], relay.exp(x))


@auto_scheduler.register_workload
def hosted(n: int) -> list[Any]:
    a = te.placeholder((n,), name="a")
    return [a, te.compute((n,), lambda i: a[i] + 1.0, "b")]


@autotvm.template("tests/hosted")
def hosted_template(n: int) -> Any:
    a, b = hosted(n)
    return te.create_schedule(b.op), [a, b]


def model() -> Any:
    return TVMCModel(IRModule.from_expr(program()), {})


CALLS: dict[str, Callable[[Any], Any]] = {
    "VMCompiler.optimize": lambda host: relay.vm.VMCompiler().optimize(program(), "llvm", host),
    "VMCompiler.lower": lambda host: relay.vm.VMCompiler().lower(program(), "llvm", host),
    "SearchTask": lambda host: auto_scheduler.SearchTask(func=hosted, args=(4,), target="llvm", target_host=host),
    "auto_scheduler.extract_tasks": lambda host: auto_scheduler.extract_tasks(program(), {}, "llvm", host),
    "autotvm.task.create": lambda host: autotvm.task.create("tests/hosted", (4,), "llvm", host),
    "extract_from_program": lambda host: autotvm.task.extract_from_program(program(), {}, "llvm", host),
}


@pytest.mark.parametrize("name", CALLS)
def test_hosts_are_cpus(name: str) -> None:
    """Guards that `target_host` is read: it was passed over in silence."""
    CALLS[name]("llvm -mcpu=x86-64")
    with pytest.raises(DiagnosticError, match="cannot compile for the host cuda"):
        CALLS[name]("cuda")


def test_tvmc_says_so_too(tmp_path: Any) -> None:
    with pytest.raises(tvmc.TVMCException, match="host cuda"):
        tvmc.compile(model(), "llvm", package_path=tmp_path / "package.tar", target_host="cuda")
    with pytest.raises(tvmc.TVMCException, match="host cuda"):
        tvmc.tune(model(), "llvm", tmp_path / "records", target_host="cuda", trials=1)
