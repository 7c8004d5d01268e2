"""`tvm.contrib.cc`: the system's compiler for sources of scripts; baton's own libraries need none."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.support.diagnostics import DiagnosticError
from baton.contrib import cc

with_compiler = pytest.mark.skipif(cc.get_cc() is None, reason="no C++ compiler here")


@with_compiler
def test_sources_become_shared_libraries(tmp_path: Path) -> None:
    source, library = tmp_path / "twice.cc", tmp_path / "twice.so"
    source.write_text('extern "C" int twice(int x) { return FACTOR * x; }')
    cc.cross_compiler(cc.create_shared, ["-DFACTOR=2"])(str(library), [str(source)])
    assert ctypes.CDLL(str(library)).twice(21) == 42
    source.write_text("no program")
    with pytest.raises(DiagnosticError, match="api-compiler"):
        cc.create_shared(str(library), str(source))


def test_a_compiler_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="no-such-compiler"):
        cc.create_shared(str(tmp_path / "x.so"), [], cc="no-such-compiler")
    assert cc.get_target_by_dump_machine("no-such-compiler")() is None


def test_libraries_are_exported_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards that `fcompile`, which scripts hand over, is never called: there is nothing to link."""
    monkeypatch.setenv("PATH", str(tmp_path))
    x = relay.var("x", shape=(2,))
    mod = baton.IRModule.from_expr(relay.Function([x], relay.add(x, x)))
    built = relay.build(mod, "llvm")
    for number, lib in enumerate([built, relay.vm.compile(mod, "llvm"), built.get_lib()]):
        lib.export_library(str(tmp_path / f"{number}.so"), fcompile=cc.create_shared)
    loaded = baton.runtime.load_module(str(tmp_path / "0.so"))
    module = baton.contrib.graph_executor.GraphModule(loaded["default"](baton.cpu()))
    module.run(x=np.ones(2, "float32"))
    assert module.get_output(0).numpy().tolist() == [2, 2]
