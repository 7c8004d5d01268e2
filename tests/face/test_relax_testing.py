"""`relax.testing`: programs as trees of nodes, and kernels compared with another library's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax
from baton.relax.testing import dump_ast
from baton.relax.testing.ast_printer import ASTPrinter
from baton.relax.testing.lib_comparator import LibCompareVMInstrument
from baton.script import ir as I
from baton.script import relax as R
from baton.script import tir as T


def test_trees_show_nodes_fields_and_what_is_known() -> None:
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    value = relax.Tuple([x, relax.PrimValue(tvm.tir.IntImm("int32", 2))])
    plain = """Tuple(
  fields=[
    Var(name_hint="x"),
    PrimValue(value=PrimExpr(value=`2`))
  ]
)"""
    assert dump_ast(value, "  ", include_struct_info_annotations=False) == plain
    assert "struct_info=PrimStructInfo(dtype=int32)" in dump_ast(relax.Var("p", relax.PrimStructInfo("int32")))
    assert "values=[PrimExpr(value=`T.int64(4)`)]" in dump_ast(x)


def test_trees_of_whole_functions() -> None:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32"), s: R.Shape(ndim=2), f: R.Callable) -> R.Object:
        n = T.int64()
        with R.dataflow():
            y = R.nn.softmax(x, axis=-1)
            z = R.match_cast(y, R.Tensor((n,), "float32"))
            R.output(z)
        if c:
            w = R.add(z, R.const(np.ones(2, "float32")))
        else:
            w = R.call_pure_packed("f", (z, s)[0], R.str("a"), sinfo_args=R.Tensor(ndim=1, dtype="float32"))
        return w

    text = dump_ast(main)
    wanted = (
        "Function(",
        "DataflowBlock(",
        "BindingBlock(",
        "MatchCast(",
        "If(",
        'Op(name="relax.nn.softmax")',
        'attrs={"axis": -1}',
        "ExternFunc(",
        "ShapeStructInfo(ndim=2)",
        "ret_struct_info=ObjectStructInfo()",
        "is_pure=True",
    )
    assert [part for part in wanted if part not in text] == []
    assert '"axis"' not in dump_ast(main, include_call_attrs=False)


def test_printers_of_ones_own_say_other_things() -> None:
    class Short(ASTPrinter):
        def visit_var_(self, op: Any) -> str:
            return op.name_hint

    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    assert Short(include_struct_info_annotations=False).visit_expr(relax.Tuple([x])) == "Tuple(fields=[x])"


@pytest.mark.parametrize("factor", [2.0, 3.0])
def test_kernels_are_compared_with_those_of_a_library(factor: float, capsys: pytest.CaptureFixture[str]) -> None:
    @I.ir_module
    class Module:
        @T.prim_func(private=True)
        def scale(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")) -> None:
            for i in range(4):
                with T.block("B"):
                    v = T.axis.spatial(4, i)
                    B[v] = A[v] * T.float32(2)

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            cls = Module
            with R.dataflow():
                y = R.call_tir(cls.scale, (x,), R.Tensor((4,), "float32"))
                R.output(y)
            return y

    A = tvm.te.placeholder((4,), name="A")
    other = tvm.te.create_prim_func([A, tvm.te.compute((4,), lambda i: A[i] * factor, name="B")])
    library = tvm.build(other.with_attr("global_symbol", "scale"), target="llvm")
    instrument = LibCompareVMInstrument(library, tvm.cpu())
    machine = relax.VirtualMachine(relax.build(Module, "llvm", exec_mode="bytecode"), tvm.cpu())
    machine.set_instrument(instrument)
    x = tvm.nd.array(np.arange(4, dtype="float32"))
    if factor != 2.0:
        with pytest.raises(AssertionError, match="scale"):
            machine["main"](x)
        return
    machine["main"](x)
    assert instrument.counter == 1
    assert "Validating scale, passed" in capsys.readouterr().out
