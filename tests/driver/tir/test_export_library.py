"""`export_library` and `save`: TVM's further arguments are read, or refused; texts are texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relay, te
from baton._src.support.diagnostics import DiagnosticError
from baton.contrib import cc, tar


def kernels() -> Any:
    a = te.placeholder((4,), name="a")
    return tvm.build(te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1.0, "b")]))


def program() -> Any:
    x = relay.var("x", shape=(3,))
    return relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))), "llvm")


@pytest.mark.parametrize("made", [kernels, program])
def test_a_scripts_fcompile_is_called(made: Any, tmp_path: Path) -> None:
    seen: list[Any] = []

    def link(output: str, objects: list[str], options: Any = None) -> None:
        seen.append((Path(objects[0]).parent, options))
        cc.create_shared(output, objects)

    made().export_library(tmp_path / "a.so", fcompile=link, workspace_dir=tmp_path, options=["-O3"])
    assert seen == [(tmp_path, ["-O3"])]
    made().export_library(tmp_path / "b.tar", fcompile=tar.tar)
    made().export_library(str(tmp_path / "c.so"), cc="g++", options=["-O2", "-std=c++17"])
    made().export_library(tmp_path / "d.so", fcompile=False)  # as older scripts write it
    for name in ("a.so", "b.tar", "c.so", "d.so"):
        tvm.runtime.load_module(tmp_path / name)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"addons": ["more.o"]}, "links no further files, such as more.o"),
        ({"options": ["-lm"]}, "no use for options"),
        ({"fcompile": lambda output, objects: None}, "did not write"),
    ],
)
def test_what_would_be_passed_over_is_refused(options: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match=why):
        kernels().export_library(tmp_path / "x.so", **options)


def test_kernels_are_saved_as_text(tmp_path: Path) -> None:
    """Guards `save("f.ll")`: the file held an archive, whatever it was called."""
    module = kernels()
    module.save(str(tmp_path / "k.ll"))
    assert "define" in (tmp_path / "k.ll").read_text()
    module.save(str(tmp_path / "k"), "asm")
    assert ".text" in (tmp_path / "k").read_text()
    module.save(str(tmp_path / "k.o"))
    out = tvm.nd.empty((4,))
    tvm.runtime.load_module(tmp_path / "k.o")(tvm.nd.array(np.zeros(4, "float32")), out)
    assert out.numpy().tolist() == [1] * 4
    with pytest.raises(DiagnosticError, match="not saved as 'bc'"):
        module.save(str(tmp_path / "k.bc"), "bc")
