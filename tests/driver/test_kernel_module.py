"""Modules of kernels are files: what `tvm.build` makes is written, read in another process and called."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import te
from baton._src.driver.kernel_module import KernelModule
from baton._src.support.diagnostics import DiagnosticError
from baton.contrib import cc
from baton.script import ir as I
from baton.script import tir as T


@I.ir_module
class TWO:
    @T.prim_func
    def doubled(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")) -> None:
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    @T.prim_func
    def chosen(a: T.int32, A: T.Buffer((4,), "float32")) -> T.float32:
        T.ret(A[a])


def _added() -> KernelModule:
    n = te.var("n")
    a, b = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    c = te.compute((n,), lambda i: a[i] + b[i], name="C")
    built = tvm.build(te.create_schedule(c.op), [a, b, c], target="llvm", name="added")
    assert isinstance(built, KernelModule)
    return built


@pytest.mark.parametrize("write", ["save", "export_library"])
def test_written_and_read_again(write: str, tmp_path: Path) -> None:
    path = tmp_path / "kernels.so"
    getattr(tvm.build(TWO, target="llvm"), write)(str(path))
    module = tvm.runtime.load_module(str(path))
    source, result = tvm.nd.array(np.arange(4, dtype="float32")), tvm.nd.empty((4,))
    module["doubled"](source, result)
    assert result.numpy().tolist() == [0, 2, 4, 6]
    assert module["chosen"](3, source) == 3.0
    locked = np.ones(4, "float32")
    locked.flags.writeable = False  # as the constants of files are: a kernel that wrote there ended the process
    module["doubled"](tvm.nd.from_dlpack(locked), result)
    with pytest.raises(DiagnosticError, match="argument B: the kernel writes to this tensor, whose memory may only be"):
        module["doubled"](source, tvm.nd.from_dlpack(locked))
    strided = np.arange(8, dtype="float32")[::2]
    module["doubled"](tvm.nd.from_dlpack(strided), result)  # only what is written had to be contiguous
    assert result.numpy().tolist() == [0, 4, 8, 12]
    with pytest.raises(DiagnosticError, match="argument B: the kernel writes to this tensor, which is not contiguous"):
        module["doubled"](source, tvm.nd.from_dlpack(strided))
    assert module.implements_function("chosen")
    assert not module.implements_function("main")
    with pytest.raises(DiagnosticError, match="no kernel is named 'main'"):
        module.get_function("main")
    with pytest.raises(DiagnosticError, match="several kernels, and none is called main"):
        module(source, result)


def test_kernels_answer_to_their_global_symbol_too(tmp_path: Path) -> None:
    """A schedule of one kernel calls it `main` in its module; TVM's library knows it by its symbol."""
    doubled = next(f for v, f in TWO.functions.items() if v.name_hint == "doubled")
    built = tvm.build(tvm.tir.Schedule(doubled).mod, target="llvm")
    built.save(str(tmp_path / "kernels.o"))
    for module in (built, tvm.runtime.load_module(str(tmp_path / "kernels.o"))):
        assert module.implements_function("doubled")
        for name in ("doubled", "main"):
            result = tvm.nd.empty((4,))
            module[name](tvm.nd.array(np.arange(4, dtype="float32")), result)
            assert result.numpy().tolist() == [0, 2, 4, 6]
        with pytest.raises(DiagnosticError, match="no kernel is named 'other'"):
            module.get_function("other")


def test_create_shared_takes_what_save_wrote(tmp_path: Path) -> None:
    """The tutorials' way: save an object, link it, load the library. There is nothing to link."""
    written, library = str(tmp_path / "added.o"), str(tmp_path / "added.so")
    _added().save(written)
    cc.create_shared(library, [written])
    x, y = (np.random.default_rng(seed).random(9, np.float32) for seed in (0, 1))
    result = tvm.nd.empty((9,))
    tvm.runtime.load_module(library)(tvm.nd.array(x), tvm.nd.array(y), result)
    np.testing.assert_array_equal(result.numpy(), x + y)
    with pytest.raises(DiagnosticError, match="cannot be linked"):
        cc.create_shared(library, [written, str(tmp_path / "other.o")])


READING = """
import sys
import numpy as np
import baton as tvm

module = tvm.runtime.load_module(sys.argv[1])
out = tvm.nd.empty((3,))
module(tvm.nd.array(np.ones(3, "float32")), tvm.nd.array(np.ones(3, "float32")), out)
assert out.numpy().tolist() == [2, 2, 2]
"""


def test_another_process_reads_them(tmp_path: Path) -> None:
    path = str(tmp_path / "added.tar")
    _added().export_library(path)
    subprocess.run([sys.executable, "-c", READING, path], check=True)


@pytest.mark.parametrize(
    ("value", "message"),
    [(128, "-128 to 127, found 128"), (-129, "found -129"), (1.5, r"found 1.5 \(float\)"), ("1", "found '1'")],
)
def test_scalars_that_a_kernel_cannot_hold(value: Any, message: str) -> None:
    """Guards against arguments of which only the lowest bits arrive."""

    @T.prim_func
    def kept(a: T.int8, A: T.Buffer((1,), "int32")) -> None:
        A[0] = T.Cast("int32", a)

    module, place = tvm.build(kept, target="llvm"), tvm.nd.empty((1,), "int32")
    with pytest.raises(DiagnosticError, match=message):
        module(value, place)
    for fits in (127, -128, np.int64(5), np.uint8(6), True):
        module(fits, place)
        assert place.numpy()[0] == int(fits)


def test_the_source_is_llvm_ir_or_assembly() -> None:
    a = te.placeholder((8,), name="a")
    module = tvm.build(te.create_prim_func([a, te.compute((8,), lambda i: a[i] * 2.0)]))
    assert module.type_key == "llvm"
    assert "define" in module.get_source()
    assert module.get_source("ll") == module.get_source()
    assert "define" not in module.get_source("asm")
    assert "ret" in module.get_source("asm")
    with pytest.raises(tvm.error.DiagnosticError, match="no source of format 'cu'"):
        module.get_source("cu")


def test_a_loaded_library_has_no_source(tmp_path: Path) -> None:
    a = te.placeholder((8,), name="a")
    tvm.build(te.create_prim_func([a, te.compute((8,), lambda i: a[i] * 2.0)])).export_library(tmp_path / "k")
    with pytest.raises(tvm.error.DiagnosticError, match="loaded from a file, which has no source"):
        tvm.runtime.load_module(tmp_path / "k").get_source()


def test_kernels_of_imported_modules(tmp_path: Path) -> None:
    """Guards that they are found only where asked for, and that a file has them, and theirs."""
    a = te.placeholder((8,), name="a")
    one, other, third = (
        tvm.build(te.create_prim_func([a, te.compute((8,), lambda i, by=by: a[i] * by)], name=name))
        for name, by in (("twice", 2.0), ("thrice", 3.0), ("fourfold", 4.0))
    )
    other.import_module(third)
    one.import_module(other)
    assert one.imported_modules == [other]
    assert not one.implements_function("thrice")
    out = tvm.nd.empty((8,))
    one.get_function("thrice", query_imports=True)(tvm.nd.array(np.ones(8, "float32")), out)
    assert out.numpy().tolist() == [3.0] * 8
    with pytest.raises(DiagnosticError, match="no kernel is named 'thrice'"):
        one.get_function("thrice")
    one.export_library(tmp_path / "k")
    loaded = tvm.runtime.load_module(tmp_path / "k")
    assert not loaded.implements_function("thrice")
    loaded.get_function("fourfold", query_imports=True)(tvm.nd.array(np.ones(8, "float32")), out)
    assert out.numpy().tolist() == [4.0] * 8
    loaded.imported_modules[0]["thrice"](tvm.nd.array(np.ones(8, "float32")), out)
    assert out.numpy().tolist() == [3.0] * 8
    loaded.clear_imports()
    loaded.export_library(tmp_path / "k")
    assert tvm.runtime.load_module(tmp_path / "k").imported_modules == []
    with pytest.raises(DiagnosticError, match="made, got 3"):
        one.import_module(3)
    for importing in (one, other):  # looking for a function, and saving, went round until the stack was full
        with pytest.raises(ValueError, match="is or imports the module that is to import it"):
            importing.import_module(one)
