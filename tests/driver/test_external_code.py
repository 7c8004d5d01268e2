"""What backends of scripts made for Relax programs is part of the programs, and of their files."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton
from baton import relax, te
from baton._src.driver.external_code import kept_code
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.packed_func import PROCESS_FUNCTIONS
from baton.script import ir as I
from baton.script import relax as R

BACKEND = "kept_code_test"


@I.ir_module
class Program:
    @R.function
    def by_backend(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"Codegen": "kept_code_test"})
        return R.exp(x)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Program
        y = cls.by_backend(x)
        z = cls.by_backend(y)
        return R.negative(z)


def _compiled(added: float) -> Any:
    """The program whose backend adds a number, with nothing left in the table of this process."""

    def backend(functions: Any, options: Any, names: Any) -> Any:
        (symbol,) = (str(f.attrs["global_symbol"]) for f in functions)
        a = te.placeholder((4,), name="a")
        kernel = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + added)])
        return [baton.build(IRModule({symbol: kernel.with_attr("global_symbol", symbol)}), "llvm")]

    before = set(PROCESS_FUNCTIONS.names())
    PROCESS_FUNCTIONS.register(f"relax.ext.{BACKEND}", backend)
    try:
        return relax.build(relax.transform.RunCodegen(entry_functions=["main"])(Program), "llvm")
    finally:
        for name in set(PROCESS_FUNCTIONS.names()) - before:
            PROCESS_FUNCTIONS.remove(name)


def _run(executable: Any) -> list[float]:
    ones = np.ones(4, "float32")
    return list(relax.VirtualMachine(executable, baton.cpu())["main"](ones).numpy().tolist())


def test_programs_keep_their_kernels(tmp_path: Path) -> None:
    """A file could be run only where somebody registered the code again; programs with functions of one name shared
    what was registered last."""
    programs = [_compiled(1.0), _compiled(10.0)]
    assert [_run(program)[0] for program in programs] == [-3.0, -21.0]
    for number, program in enumerate(programs):
        program.export_library(tmp_path / f"{number}.so")
    loaded = [baton.runtime.load_module(tmp_path / f"{number}.so") for number in (0, 1)]
    assert [_run(program)[0] for program in loaded] == [-3.0, -21.0]
    loaded[1].export_library(tmp_path / "again.so")
    assert _run(baton.runtime.load_module(tmp_path / "again.so"))[0] == -21.0


@pytest.mark.parametrize("data", [3, {}, {"modules": [], "places": {"f": [0, "f"]}}, {"modules": [{}], "places": {}}])
def test_malformed_code_is_refused(data: Any) -> None:
    broken = dataclasses.replace(_compiled(1.0), facts={"external": data})
    with pytest.raises(DiagnosticError, match="malformed"):
        kept_code(broken)
