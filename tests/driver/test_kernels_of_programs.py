"""Kernels of Relax programs: those that pipelines add are held to the same rules; public ones can be called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton
from baton import relax, te, tir
from baton.script import ir as I
from baton.script import relax as R
from baton.script import tir as T

DATA = np.arange(4, dtype="float32")


def repeated(choose: bool) -> Any:
    """A rule for `relax.tile`: more rows than the operand has. `Select` evaluates both values."""

    def kernel(x: Any) -> Any:
        def element(i: Any) -> Any:
            return tir.Select(i < x.shape[0], x[i], tir.const(-1, "float32")) if choose else x[i]

        return te.compute((x.shape[0] * 2,), element)

    return lambda builder, call: builder.call_te(kernel, call.args[0])


def tiled(rows: Any) -> baton.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((rows,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.tile(x, (2,))))
    return builder.get()


ROWS = [4, tir.Var("n", "int64")]


@pytest.mark.parametrize("rows", ROWS, ids=["known", "open"])
def test_selects_of_kernels_that_a_pipeline_adds(rows: Any) -> None:
    """Only the chosen value may be read: the other one lies behind the operand."""
    rule = relax.transform.LegalizeOps({"relax.tile": repeated(choose=True)})
    for pipeline in (rule, baton.transform.Sequential([rule])):
        machine = relax.VirtualMachine(relax.build(tiled(rows), pipeline=pipeline))
        assert machine["main"](baton.nd.array(DATA)).numpy().tolist() == [0, 1, 2, 3, -1, -1, -1, -1]


@pytest.mark.parametrize("rows", ROWS, ids=["known", "open"])
def test_a_kernel_that_a_rule_adds_stays_inside_its_buffers(rows: Any) -> None:
    with pytest.raises(baton.error.TVMError, match="axis 0 of x, which has the shape"):
        relax.build(tiled(rows), pipeline=relax.transform.LegalizeOps({"relax.tile": repeated(choose=False)}))


def test_a_kernel_that_a_pass_adds_stays_inside_its_buffers() -> None:
    def add(module: baton.IRModule, ctx: Any) -> baton.IRModule:
        return baton.IRModule({**module.functions, baton.ir.GlobalVar("longer"): te.create_prim_func(_longer())})

    with pytest.raises(baton.error.TVMError, match="axis 0 of x, which has the shape"):
        relax.build(tiled(4), pipeline=baton.transform.module_pass(add, opt_level=0))


def _longer() -> list[Any]:
    x = te.placeholder((4,), name="x")
    return [x, te.compute((8,), lambda i: x[i], name="y")]


@I.ir_module
class Program:
    @T.prim_func
    def add_one(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        T.func_attr({"global_symbol": "plus"})
        for i in range(4):
            with T.block("b"):
                v = T.axis.spatial(4, i)
                b[v] = a[v] + T.float32(1)

    @T.prim_func
    def scale(a: T.handle, factor: T.float32):
        T.func_attr({"global_symbol": "scale", "tir.noalias": True})
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        for i in range(n):
            A[i] = A[i] * factor

    @T.prim_func(private=True)
    def hidden(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            b[i] = a[i]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Program
        return R.call_tir(cls.add_one, (x,), out_sinfo=R.Tensor((4,), "float32"))


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_public_kernels_of_a_program(mode: str, tmp_path: Path) -> None:
    """TVM's library of a program has the kernels with a `global_symbol`, whether Relax calls them or not."""
    built = relax.build(Program, exec_mode=mode)
    built.export_library(tmp_path / "lib.so")
    loaded = baton.runtime.load_module(str(tmp_path / "lib.so"))
    for executable in (built, loaded):
        machine = relax.VirtualMachine(executable, baton.cpu())
        assert machine["main"](baton.nd.array(DATA)).numpy().tolist() == [1, 2, 3, 4]
        for module in (executable, executable.mod, machine.module):
            found = baton.nd.empty((4,))
            module.get_function("plus", query_imports=True)(baton.nd.array(DATA), found)
            assert found.numpy().tolist() == [1, 2, 3, 4]
            assert not module.implements_function("plus")
            assert not module.implements_function("hidden", query_imports=True)
        data = baton.nd.array(DATA[:3])
        executable.imported_modules[0]["scale"](data, 2.0)
        assert data.numpy().tolist() == [0, 2, 4]
        with pytest.raises(AttributeError, match="no kernel is named 'main'"):
            executable.imported_modules[0]["main"]


def test_programs_without_public_kernels_import_nothing() -> None:
    assert relax.build(tiled(4)).imported_modules == ()
