"""Packed functions and tvm-ffi: programs call its functions by name, and its libraries call those registered here."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.driver.tvm_names.registry import (
    get_global_func,
    list_global_func_names,
    register_func,
    remove_global_func,
)
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values import ffi
from baton._src.values.dtype import DataType
from baton._src.values.shape import ShapeTuple
from tests.relax.build import module
from tests.relax.machines import everywhere

LIBRARY = r"""
#include <tvm/ffi/c_api.h>

static DLTensor* tensor(const TVMFFIAny* a) {
  return a->type_index == kTVMFFITensor ? (DLTensor*)((char*)a->v_obj + sizeof(TVMFFIObject)) : (DLTensor*)a->v_ptr;
}

/* scale(x, factor, out): out = x * factor */
TVM_FFI_DLL_EXPORT int __tvm_ffi_scale(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  if (count != 3) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "scale takes three arguments");
    return -1;
  }
  DLTensor *x = tensor(&args[0]), *out = tensor(&args[2]);
  int64_t size = 1;
  for (int i = 0; i < x->ndim; ++i) size *= x->shape[i];
  for (int64_t i = 0; i < size; ++i) ((float*)out->data)[i] = ((float*)x->data)[i] * (float)args[1].v_int64;
  result->type_index = kTVMFFINone;
  return 0;
}
"""


@pytest.fixture
def names() -> Iterator[list[str]]:
    """Names to forget at the end."""
    used: list[str] = []
    yield used
    for name in used:
        remove_global_func(name)


def test_functions_of_tvm_ffi_are_called_by_name(names: list[str]) -> None:
    """Guards the lookup by name and every category of value on its way out and back, in all machines."""
    names += ["test.ffi.inc", "test.ffi.echo"]
    seen: list[Any] = []

    def echo(*values: Any) -> Any:
        seen.append([type(v).__name__ for v in values])
        return list(values)

    ffi.tvm_ffi().register_global_func("test.ffi.inc", lambda x: np.from_dlpack(x) + 1)
    ffi.tvm_ffi().register_global_func("test.ffi.echo", echo)
    text = """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32")) -> R.Object:
    n = T.int64()
    y = R.call_packed("test.ffi.inc", x, sinfo_args=R.Tensor((n,), "float32"))
    z = R.call_packed(
        "test.ffi.echo", y, R.shape([n, 3]), R.prim_value(4), R.str("s"), R.dtype("int8"), (y,), sinfo_args=R.Object
    )
    return z
"""
    tensor, shape, number, string, dtype, whole = everywhere(text, np.array([1, 2], "float32"))
    assert tensor.numpy().tolist() == whole[0].numpy().tolist() == [2, 3]
    assert isinstance(shape, ShapeTuple)
    assert (tuple(shape), number, string, dtype) == ((2, 3), 4, "s", DataType("int8"))
    assert seen[0] == ["Tensor", "Shape", "int", "str", "dtype", "Array"]


def test_functions_registered_here_are_functions_of_tvm_ffi(names: list[str]) -> None:
    """Guards the other way: a library asks tvm-ffi for a name and calls Python with run-time values."""
    names.append("test.ffi.mine")
    seen: list[Any] = []

    @register_func("test.ffi.mine")
    def mine(x: Any, shape: Any) -> Any:
        seen.append((type(x).__name__, type(shape)))
        return (x, shape)

    package = ffi.tvm_ffi()
    found = package.get_global_func("test.ffi.mine")(np.ones(2, "float32"), package.Shape((4,)))
    assert seen == [("NDArray", ShapeTuple)]
    assert np.from_dlpack(found[0]).tolist() == [1, 1]
    assert tuple(found[1]) == (4,)
    assert "test.ffi.mine" in list_global_func_names()
    remove_global_func("test.ffi.mine")
    assert package.get_global_func("test.ffi.mine", allow_missing=True) is None


def test_a_name_is_taken_once(names: list[str]) -> None:
    """Guards one name space: what tvm-ffi has registered is not hidden by accident."""
    names.append("test.ffi.once")
    ffi.tvm_ffi().register_global_func("test.ffi.once", lambda: 1)
    with pytest.raises(DiagnosticError, match="registered already"):
        register_func("test.ffi.once", lambda: 2)
    register_func("test.ffi.once", lambda: 3, override=True)
    found = get_global_func("test.ffi.once")
    assert found is not None
    assert found() == ffi.tvm_ffi().get_global_func("test.ffi.once")() == 3


@pytest.mark.skipif(shutil.which("cc") is None, reason="compiles a library in C")
@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_libraries_in_c(tmp_path: Path, names: list[str], mode: str) -> None:
    """Guards functions that a shared library exports: written into, without a copy, and errors of theirs."""
    names.append("test.ffi.scale")
    source, library = tmp_path / "scale.c", tmp_path / "scale.so"
    source.write_text(LIBRARY)
    package = ffi.tvm_ffi()
    info = package.libinfo
    folders = {info.find_include_path(), info.find_dlpack_include_path()}
    where = Path(info.find_libtvm_ffi())
    subprocess.run(
        ["cc", "-shared", "-fPIC", *[f"-I{f}" for f in folders], str(source), str(where), "-o", str(library)],
        check=True,
    )
    register_func("test.ffi.scale", package.load_module(str(library))["scale"])
    program = module("""
@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    n = T.int64()
    with R.dataflow():
        y = R.call_dps_packed("test.ffi.scale", (x, R.prim_value(3)), out_sinfo=R.Tensor((n,), "float32"))
        R.output(y)
    return y

@R.function(pure=False)
def wrong(x: R.Tensor(("n",), "float32")) -> R.Object:
    y = R.call_packed("test.ffi.scale", x, sinfo_args=R.Object)
    return y
""")
    machine = VirtualMachine(relax_build(program, exec_mode=mode))
    assert machine["main"](np.array([1, 2], "float32")).numpy().tolist() == [3, 6]
    with pytest.raises(Exception, match="three arguments"):
        machine["wrong"](np.array([1, 2], "float32"))
