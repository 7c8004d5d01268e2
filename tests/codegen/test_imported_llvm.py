"""Kernels that bring LLVM IR along (`pragma_import_llvm`), and the clang that makes it."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

import baton as tvm
from baton import te, tir
from baton._src.support.diagnostics import DiagnosticError
from baton.contrib import clang
from baton.script import tir as T

FILL = """
target triple = "some-other-target"
declare float @sqrtf(float)
define i32 @fill(ptr %to, i32 %count, float %content) {
entry:
  %root = call float @sqrtf(float %content)
  br label %head
head:
  %i = phi i32 [0, %entry], [%next, %body]
  %more = icmp slt i32 %i, %count
  br i1 %more, label %body, label %exit
body:
  %place = getelementptr float, ptr %to, i32 %i
  store float %root, ptr %place
  %next = add i32 %i, 1
  br label %head
exit:
  ret i32 0
}
"""


@T.prim_func
def filling(a: T.Buffer((5,), "float32")):
    for _ in range(1):
        with T.block("fill"):
            T.reads()
            T.writes(a[0:5])
            T.evaluate(T.call_extern("int32", "fill", a.access_ptr("w"), 5, T.float32(9)))


def brought(content: str) -> tvm.IRModule:
    schedule = tir.Schedule(filling)
    (loop,) = schedule.get_loops("fill")
    schedule.annotate(loop, "pragma_import_llvm", content)
    return schedule.mod


@pytest.mark.parametrize("as_file", [False, True])
def test_functions_that_a_kernel_brings_along(as_file: bool, tmp_path: Path) -> None:
    """Guards calls of imported functions, also those in a file, with what they need from the process, and after the
    library was saved; the pragma was passed over in silence."""
    path = tmp_path / "fill.ll"
    path.write_text(FILL)
    kernel = tvm.build(brought(str(path) if as_file else FILL), target="llvm")
    path.unlink()
    kernel.export_library(tmp_path / "kernel.so")
    for module in (kernel, tvm.runtime.load_module(tmp_path / "kernel.so")):
        out = tvm.nd.array(np.zeros(5, "float32"))
        module["main"](out)
        assert out.numpy().tolist() == [3.0] * 5


def test_a_pragma_of_a_stage() -> None:
    """Guards `s[C].pragma(axis, "import_llvm", ...)` with a tensor intrinsic, as in TVM's tutorial on tensorize."""
    k = te.reduce_axis((0, 4), "k")
    a = te.placeholder((4,), name="a")
    c = te.compute((1,), lambda i: te.sum(a[k], axis=k), name="c")
    buffers = {t: tvm.tir.decl_buffer(t.shape, t.dtype, t.name, offset_factor=1, strides=[1]) for t in (a, c)}

    def fill(ins: object, outs: object) -> object:
        return tvm.tir.call_extern("int32", "fill", outs[0].access_ptr("w"), 1, tir.const(4.0, "float32"))

    intrinsic = te.decl_tensor_intrin(c.op, lambda ins, outs: fill(ins, outs), binds=buffers)
    x = te.placeholder((3, 4), name="x")
    r = te.reduce_axis((0, 4), "r")
    y = te.compute((3, 1), lambda i, j: te.sum(x[i, r], axis=r), name="y")
    s = te.create_schedule(y.op)
    s[y].tensorize(y.op.axis[1], intrinsic)
    s[y].pragma(y.op.axis[0], "import_llvm", FILL)
    out = tvm.nd.array(np.zeros((3, 1), "float32"))
    tvm.build(s, [x, y], target="llvm")(tvm.nd.array(np.ones((3, 4), "float32")), out)
    assert out.numpy().tolist() == [[2.0]] * 3


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("define i32 @fill(", "not valid"),
        ("missing.ll", "cannot be read"),
        ("define void @fill() { ret i32 1 }", "not valid"),
    ],
)
def test_what_is_no_llvm_ir(content: str, why: str) -> None:
    with pytest.raises(DiagnosticError, match=f"import-llvm.*{why}"):
        tvm.build(brought(content), target="llvm")


def test_clang_is_called_for_texts_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards `clang.create_llvm` with a program that stands for clang: it shows how it was called."""
    fake = tmp_path / "clang"
    fake.write_text(
        '#!/bin/sh\necho "$@" >&2\nfor last; do :; done\nprintf "; %s" "$3" > "$last"\ncat "$4" >> "$last"\n'
    )
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert clang.find_clang()[0] == str(fake)
    assert clang.create_llvm("int f();", options=["-O3"]) == "; -O3int f();"
    source, output = tmp_path / "f.cc", tmp_path / "f.ll"
    source.write_text("int g();")
    assert clang.create_llvm([str(source)], str(output), ["-O2"]) == output.read_text() == "; -O2int g();"
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(DiagnosticError, match="no clang was found"):
        clang.create_llvm("int f();")
    assert clang.find_clang(required=False) == []
