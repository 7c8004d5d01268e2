"""Loading object code: damaged or foreign code is refused, externs are found, calls go between functions."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from baton._src.codegen.llvm.cache import CacheOptions
from baton._src.codegen.llvm.module import CompileOptions, compile_module
from baton._src.ir.expr import GlobalVar
from baton._src.runtime import linker
from baton._src.runtime.native.library import load
from baton._src.runtime.native.object_bundle import ObjectBundle
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import stmt as st
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.expr import BufferLoad, Call, IntImm, StringImm, Var
from baton._src.tir.intrinsics import intrinsic
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST

PLAIN = CompileOptions(cache=CacheOptions(None))


def double() -> PrimFunc:
    a = placeholder((4,), "float32", "A")
    return create_prim_func([a, compute((4,), lambda i: a[i] * 2.0, "B")])


@pytest.fixture(scope="module")
def code() -> bytes:
    return compile_module({"f": double()}, HOST, PLAIN)


@pytest.mark.parametrize("place", [0, 15, 40, -1])
def test_damaged_code_is_refused(code: bytes, place: int) -> None:
    """Guards the checksum: nothing damaged is ever linked."""
    damaged = bytearray(code)
    damaged[place] ^= 0x40
    with pytest.raises(DiagnosticError) as caught:
        load(bytes(damaged))
    assert caught.value.code == "object-corrupt"
    with pytest.raises(DiagnosticError):
        load(code[:place])


def test_code_for_other_machines_is_refused(code: bytes) -> None:
    """Guards the target in the header."""
    bundle = ObjectBundle.from_bytes(code)
    windows = f"{bundle.triple.split('-')[0]}-pc-windows-msvc"  # LLVM's linker ended the process
    for other in (
        replace(bundle, features=("avx9000",)),
        replace(bundle, triple="hexagon-unknown-linux"),
        replace(bundle, triple=windows),
    ):
        with pytest.raises(DiagnosticError) as caught:
            load(other.to_bytes())
        assert caught.value.code == "object-target"


def test_unknown_symbol(code: bytes) -> None:
    """Guards the message for a name that is not there."""
    with pytest.raises(DiagnosticError, match="no function 'g'"):
        load(code).address("g")


def test_missing_import() -> None:
    """Guards externs nobody defines."""
    body = st.Evaluate(Call("void", intrinsic("call_extern"), [StringImm("no_such_function_anywhere")]))
    with pytest.raises(DiagnosticError) as caught:
        load(compile_module({"f": PrimFunc([], body)}, HOST, PLAIN))
    assert caught.value.code == "object-import"


def test_symbols_of_libraries_that_are_loaded_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a second attempt: what was not there at first stayed unknown in this process."""
    with monkeypatch.context() as earlier:
        earlier.setattr(linker, "_system_libraries", tuple)
        assert linker.process_symbol("labs") is None
    assert linker.process_symbol("labs") is not None


def test_externs_are_called() -> None:
    """Guards `call_extern` with an address given at load time."""
    seen: list[int] = []
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64)
    receive = kind(lambda number: seen.append(number))
    x = Var("x", "int64")
    body = st.Evaluate(Call("void", intrinsic("call_extern"), [StringImm("receive"), x + 1]))
    address = ctypes.cast(receive, ctypes.c_void_p).value
    assert address is not None
    library = load(compile_module({"f": PrimFunc([x], body)}, HOST, PLAIN), {"receive": address})
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(library.address("f"))(41)
    assert seen == [42]


def test_native_entries_call_kernels() -> None:
    """Guards entries: tables of pointers, addresses with offsets, kernels called by name."""
    table = decl_buffer((2,), "handle", "table")
    pointers = [BufferLoad(table, (IntImm("int64", i),)) for i in range(2)]
    moved = [Call("handle", intrinsic("ptr_add"), [p, IntImm("int64", 16)]) for p in pointers]
    calls = [st.Evaluate(Call("void", GlobalVar("double"), args)) for args in (pointers, moved)]
    entry = PrimFunc([table.data], st.SeqStmt(tuple(calls)))
    library = load(compile_module({"main": entry, "double": double()}, HOST, PLAIN))
    x, y = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    addresses = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.address("main"))(ctypes.addressof(addresses))
    np.testing.assert_array_equal(y, 2 * x)


def test_recursion_is_refused() -> None:
    """Guards circles of calls."""
    one = PrimFunc([], st.Evaluate(Call("void", GlobalVar("two"), [])))
    two = PrimFunc([], st.Evaluate(Call("void", GlobalVar("one"), [])))
    with pytest.raises(DiagnosticError, match="call each other"):
        compile_module({"one": one, "two": two}, HOST, PLAIN)
