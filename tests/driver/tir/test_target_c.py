"""`target="c"`: kernels and programs as C, which is saved, compiled, loaded and called as in TVM."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, relay, te, tir
from baton._src.support.diagnostics import DiagnosticError
from baton._src.support.system_compiler import get_c_compiler
from baton.contrib import cc, graph_executor
from baton.driver import tvmc
from baton.relay import testing
from baton.script import from_source

needs_compiler = pytest.mark.skipif(get_c_compiler() is None, reason="there is no C compiler")


def doubled(name: str = "doubled") -> Any:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2.0, name="B")
    return tvm.build(te.create_schedule(b.op), [a, b], target="c", name=name)


def called(function: Any, size: int = 5) -> list[float]:
    out = tvm.nd.empty((size,))
    function(tvm.nd.array(np.arange(size, dtype="float32")), out)
    return list(out.numpy().tolist())


def test_a_module_of_c_is_source(tmp_path: Path) -> None:
    """Guards what works without any compiler: the text, files of it, and errors that say what to do."""
    module = doubled()
    text = module.get_source()
    assert "int32_t doubled(void* args" in text
    assert module.get_source("c") == text
    assert module.type_key == "c"
    assert module.implements_function("doubled")
    module.save(str(tmp_path / "lib.c"))
    assert (tmp_path / "lib.c").read_text() == text
    module.export_library(str(tmp_path / "lib.tar"))
    for use in (lambda: module(1), lambda: module["doubled"], lambda: module.time_evaluator("doubled", tvm.cpu())):
        with pytest.raises(DiagnosticError, match="export_library"):
            use()
    with pytest.raises(DiagnosticError, match="export_library"):
        module.save(str(tmp_path / "lib.o"))


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the error where nothing can compile, instead of one of the operating system's."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(DiagnosticError, match="no C compiler was found"):
        doubled().export_library(str(tmp_path / "lib.so"))


@needs_compiler
@pytest.mark.parametrize("name", ["lib.so", "lib.tar"])
def test_a_library_is_called(tmp_path: Path, name: str) -> None:
    """Guards export, load and call, by name and as a whole, and measuring."""
    path = str(tmp_path / name)
    doubled().export_library(path)
    loaded = tvm.runtime.load_module(path)
    assert called(loaded["doubled"]) == called(loaded) == [0.0, 2.0, 4.0, 6.0, 8.0]
    ones = tvm.nd.array(np.ones(3, "float32"))
    assert loaded.time_evaluator("doubled", tvm.cpu(), number=2)(ones, tvm.nd.empty((3,))).mean > 0
    with pytest.raises(DiagnosticError, match="no function 'halved'"):
        loaded["halved"]


@needs_compiler
def test_what_the_system_calls_by_this_name_is_not_called(tmp_path: Path) -> None:
    """Guards lookups that find functions of the C library: calling these with tensors would end the process."""
    path = str(tmp_path / "lib.so")
    doubled("double").export_library(path)  # a word of C
    loaded = tvm.runtime.load_module(path)
    assert called(loaded["double"]) == [0.0, 2.0, 4.0, 6.0, 8.0]
    for name in ("exp", "malloc"):
        assert not loaded.implements_function(name)


@needs_compiler
def test_arguments_are_checked(tmp_path: Path) -> None:
    """Guards the messages of the C functions themselves, which know nothing of Python."""
    path = str(tmp_path / "lib.so")
    doubled().export_library(path)
    function = tvm.runtime.load_module(path)["doubled"]
    five, six = (tvm.nd.array(np.zeros(n, "float32")) for n in (5, 6))
    whole = tvm.nd.array(np.zeros(5, "int32"))
    flat = tvm.nd.array(np.zeros((5, 1), "float32"))
    cases = [
        ((five,), "takes 2 arguments, 1 are given"),
        ((five, six), "argument B: dim 0 must be 5, it is 6"),
        ((five, whole), "argument B must be of dtype float32"),
        ((five, flat), "argument B must have 1 dims, it has 2"),
        ((five, 3), "argument B must be a tensor"),
    ]
    for given, message in cases:
        with pytest.raises(DiagnosticError, match=message):
            function(*given)
    with pytest.raises(TypeError, match=r"tvm\.nd\.array"):
        function(five, np.zeros(5, "float32"))


@needs_compiler
def test_scalars_and_results(tmp_path: Path) -> None:
    """Guards numbers as arguments and as results, and the ranges of integers."""
    func = from_source("""
from baton.script import tir as T

@T.prim_func
def main(x: T.float32, k: T.int8, b: T.bool, A: T.Buffer((2,), "bool")) -> T.float32:
    A[0] = b
    A[1] = k > T.int8(2)
    T.ret(x * T.Cast("float32", k))
""")
    path = str(tmp_path / "lib.so")
    tvm.build(func, target="c").export_library(path)
    loaded = tvm.runtime.load_module(path)
    flags = tvm.nd.array(np.zeros(2, "bool"))
    assert loaded(1.5, 3, True, flags) == 4.5
    assert flags.numpy().tolist() == [True, True]
    with pytest.raises(DiagnosticError, match="argument k must be between -128 and 127, it is 200"):
        loaded(1.5, 200, False, flags)


@needs_compiler
def test_faults_of_kernels(tmp_path: Path) -> None:
    """Guards the messages of assertions and of indices outside in code of a C compiler."""
    func = from_source("""
from baton.script import tir as T

@T.prim_func
def picked(A: T.Buffer((4,), "float32"), I: T.Buffer((2,), "int32"), C: T.Buffer((2,), "float32")):
    assert I[0] >= 1, "the first is {0}"
    for i in range(2):
        C[i] = A[I[i]]
""")
    path = str(tmp_path / "lib.so")
    tvm.build(func, target="c").export_library(path)
    kernel = tvm.runtime.load_module(path)["picked"]
    values, out = tvm.nd.array(np.arange(4, dtype="float32")), tvm.nd.empty((2,))
    kernel(values, tvm.nd.array(np.array([1, 3], "int32")), out)
    assert out.numpy().tolist() == [1.0, 3.0]
    with pytest.raises(DiagnosticError, match=r"the first is \{0\}"):
        kernel(values, tvm.nd.array(np.array([0, 3], "int32")), out)
    with pytest.raises(DiagnosticError, match="4"):
        kernel(values, tvm.nd.array(np.array([1, 4], "int32")), out)


@needs_compiler
def test_flows_of_scripts(tmp_path: Path) -> None:
    """Guards files that a script compiles itself (as C++, too), further sources, flags, several modules."""
    module = doubled()
    module.save(str(tmp_path / "a.c"))
    for output, compiler in (("a.so", None), ("b.so", get_c_compiler())):
        cc.create_shared(str(tmp_path / output), [str(tmp_path / "a.c")], cc=compiler)
        assert called(tvm.runtime.load_module(str(tmp_path / output))) == [0.0, 2.0, 4.0, 6.0, 8.0]
    (tmp_path / "more.c").write_text("float more(float x) { return x + MORE; }\n")
    x = te.placeholder((3,), name="x")
    y = te.compute((3,), lambda i: tir.call_pure_extern("float32", "more", x[i]), name="y")
    extern = tvm.build(te.create_schedule(y.op), [x, y], target="c", name="extern")
    extern.import_module(module)
    path = str(tmp_path / "c.so")
    extern.export_library(path, addons=[str(tmp_path / "more.c")], options=["-O1", "-DMORE=4"])
    loaded = tvm.runtime.load_module(path)
    assert called(loaded["extern"], 3) == [4.0, 5.0, 6.0]
    assert called(loaded["doubled"]) == [0.0, 2.0, 4.0, 6.0, 8.0]


@needs_compiler
def test_a_host_program_in_c(tmp_path: Path) -> None:
    """Guards the calling convention for callers that are not Python."""
    (tmp_path / "main.c").write_text(
        """
#include <stdint.h>
#include <stdio.h>
typedef union { int64_t i; double d; void* p; } Value;
typedef struct { void* data; int32_t device[2]; int32_t ndim; uint8_t code, bits; uint16_t lanes;
  int64_t *shape, *strides; uint64_t offset; } Tensor;
int32_t doubled(void*, int32_t*, int32_t, void*, int32_t*, void*);
extern void (*__TVMAPISetLastError)(const char*);
static void told(const char* text) { printf("%s\\n", text); }
int main(void) {
  float from[3] = {1, 2, 3}, to[2] = {0, 0};
  int64_t size = 2;
  Tensor a = {from, {1, 0}, 1, 2, 32, 1, &size, 0, 4}, b = {to, {1, 0}, 1, 2, 32, 1, &size, 0, 0};
  Value values[2], result;
  int32_t codes[2] = {7, 7}, code;
  values[0].p = &a, values[1].p = &b;
  int32_t done = doubled(values, codes, 2, &result, &code, 0);
  printf("%d %g %g\\n", done, to[0], to[1]);
  __TVMAPISetLastError = told;
  printf("%d\\n", doubled(values, codes, 1, &result, &code, 0));
  return 0;
}
"""
    )
    doubled().save(str(tmp_path / "lib.c"))
    compiler = str(get_c_compiler())
    files = [str(tmp_path / "main.c"), str(tmp_path / "lib.c")]
    flags = ["-std=c99", "-Wall", "-Werror", "-fsanitize=address,undefined"]
    subprocess.run([compiler, *flags, "-o", str(tmp_path / "run"), *files, "-lm"], check=True)
    done = subprocess.run([str(tmp_path / "run")], capture_output=True, text=True, check=True)
    assert done.stdout == "0 4 6\ndoubled: takes 2 arguments, 1 are given\n-1\n"


@needs_compiler
@pytest.mark.parametrize("name", ["lib.so", "lib.tar"])
def test_a_relay_program(tmp_path: Path, name: str) -> None:
    """Guards whole programs: kernels, the entry that calls them, weights, in a library of C."""
    module, params = testing.mlp.get_workload(batch_size=2)
    library = relay.build(module, target="c", params=params, executor=relay.backend.Executor("graph"))
    assert "int32_t" in library.get_source()
    with pytest.raises(DiagnosticError, match="export_library"):
        graph_executor.GraphModule(library["default"](tvm.cpu())).run(data=np.zeros((2, 1, 28, 28), "float32"))
    path = str(tmp_path / name)
    library.export_library(path)
    x = np.random.default_rng(0).random((2, 1, 28, 28), "float32")
    results = []
    for built in (tvm.runtime.load_module(path), relay.build(module, target="llvm", params=params)):
        run = graph_executor.GraphModule(built["default"](tvm.cpu()))
        run.run(data=x)
        results.append(run.get_output(0).numpy())
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)
    if name == "lib.so":
        ctypes.CDLL(path)  # it is a library as any other, too


@needs_compiler
def test_a_relax_program(tmp_path: Path) -> None:
    """Guards open sizes, branches and a loop: the machine's functions call code of a C compiler."""
    module = from_source("""
from baton.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), flag: R.Tensor((), "bool")) -> R.Tensor(("n", 4), "float32"):
        if flag:
            y = R.nn.softmax(R.add(x, x))
        else:
            y = R.nn.relu(x)
        return y
""")
    path = str(tmp_path / "lib.so")
    relax.build(module, target="c").export_library(path)
    machine = relax.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu())
    wanted = relax.VirtualMachine(relax.build(module, target="llvm"), tvm.cpu())
    x = tvm.nd.array(np.random.default_rng(0).standard_normal((3, 4)).astype("float32"))
    for flag in (True, False):
        given = (x, tvm.nd.array(np.array(flag)))
        np.testing.assert_allclose(machine["main"](*given).numpy(), wanted["main"](*given).numpy(), rtol=1e-5)


@needs_compiler
@pytest.mark.parametrize("form", ["so", "tar"])
def test_a_package_of_tvmc(tmp_path: Path, form: str) -> None:
    """Guards `tvmc compile --target c`, which was refused: the package runs, and shows its C."""
    module, params = testing.mlp.get_workload(batch_size=1)
    results = []
    for target, dump in (("c", "c"), ("llvm", "ll")):
        model = tvmc.model.TVMCModel(module, params)
        path = tmp_path / f"{target}.tar"
        package = tvmc.compile(model, target, package_path=path, output_format=form, dump_code=dump)
        assert ("int32_t" in (tmp_path / f"{path.name}.{dump}").read_text()) == (target == "c")
        results.append(tvmc.run(package, device="cpu", fill_mode="ones").get_output("output_0"))
    np.testing.assert_allclose(*results, rtol=1e-5)
