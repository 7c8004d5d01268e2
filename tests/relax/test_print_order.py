"""Where TVM v0.19 prints what: the order in a module, what a function's body begins with, what needs no annotation."""

from __future__ import annotations

import numpy as np
import pytest

import baton
from baton import relax
from baton.script import from_source
from baton.script import ir as I
from baton.script import relax as R
from baton.script import tir as T


@I.ir_module
class Printed:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), s: R.Shape(["m"]), o: R.Object) -> R.Tensor(("m", "n")):
        n = T.int64()
        m = T.int64()
        R.func_attr({"num_input": 1})
        cls = Printed
        k = T.int64()
        y = R.call_tir(cls.copy, (x,), out_sinfo=R.Tensor((n,), "float32"))
        with R.dataflow():
            z = R.match_cast(o, R.Shape([m, k]))
            w = R.zeros((m, n), "float32")
            R.output(w)
        return w

    @R.function(pure=False, private=True)
    def effects(x: R.Tensor(("n",), "float32")) -> R.Tuple:
        R.print(x, format="{}")
        done = R.print(format="end")
        return done

    @T.prim_func(private=True)
    def copy(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            b[i] = a[i]


def test_kernels_come_first_and_main_comes_last() -> None:
    found = [line.split("(")[0].split()[1] for line in Printed.script().splitlines() if line.startswith("    def ")]
    assert found == ["copy", "effects", "main"]


def test_a_body_begins_with_shape_variables_attributes_and_the_modules_name() -> None:
    text = Printed.script()
    assert text[text.index("    def main") :] == MAIN
    baton.ir.assert_structural_equal(from_source(text), Printed)


MAIN = """\
    def main(x: R.Tensor(("n",), dtype="float32"), s: R.Shape(["m"]), o: R.Object) -> R.Tensor(("m", "n")):
        m = T.int64()
        n = T.int64()
        R.func_attr({"num_input": 1})
        cls = Module
        k = T.int64()
        y = R.call_tir(cls.copy, (x,), out_sinfo=R.Tensor((n,), dtype="float32"))
        with R.dataflow():
            z: R.Shape([m, k]) = R.match_cast(o, R.Shape([m, k]))
            w: R.Tensor((m, n), dtype="float32") = R.zeros(R.shape([m, n]), dtype="float32")
            R.output(w)
        return w"""


def test_calls_that_give_nothing_stand_alone_until_their_value_is_used() -> None:
    text = Printed["effects"].script()
    done = 'done: R.Tuple = R.print(format=R.str("end"))'
    assert f'\n    R.print(x, format=R.str("{{}}"))\n    {done}\n    return done' in text


def test_a_function_alone_names_its_kernels_without_a_module() -> None:
    assert "R.call_tir(copy, (x,)" in Printed["main"].script()


def test_a_variable_that_holds_a_function_of_the_module_reads_back() -> None:
    """The shape variables of its type belong to no parameter here; they are declared all the same."""

    @I.ir_module
    class Holder:
        @R.function
        def double(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            return R.add(x, x)

        @R.function
        def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(ndim=1, dtype="float32"):
            f = Holder.double
            return f(x)

    again = from_source(Holder.script())
    baton.ir.assert_structural_equal(again, Holder)
    found = relax.VirtualMachine(relax.build(again), baton.cpu())["main"](np.ones(2, "float32"))
    assert found.numpy().tolist() == [2.0, 2.0]


@I.ir_module
class Closure:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Object:
        k = T.int64()

        @R.function
        def double(a: R.Tensor((k,), "float32")) -> R.Tensor((k,), "float32"):
            R.func_attr({"depth": 1})
            return R.add(a, a)

        pair = (double, x)
        again = pair[0]
        return again(x)


def test_the_shape_variables_of_inner_functions_are_declared_by_the_outermost() -> None:
    """The type of `pair` names k too: it has to be one variable when it is read back."""
    text = Closure.script()
    head = "        n = T.int64()\n        k = T.int64()\n        @R.function\n        def double(a: R.Tensor((k,), "
    assert head in text
    assert '\n            R.func_attr({"depth": 1})\n' in text
    baton.ir.assert_structural_equal(from_source(text), Closure)


@pytest.mark.parametrize(
    ("info", "text"),
    [
        (relax.TensorStructInfo((2, 3), "float32"), 'R.Tensor(ndim=2, dtype="float32")'),
        (relax.ShapeStructInfo(ndim=-1), "R.Shape(ndim=-1)"),
        (relax.FuncStructInfo.opaque_func(), "R.PackedFunc"),
        (relax.ObjectStructInfo(), "R.Object"),
    ],
)
def test_static_types_print(info: relax.StructInfo, text: str) -> None:
    """Printing one did not end before."""
    assert repr(relax.analysis.get_static_type(info)) == text


def test_erasing_simplifies_what_it_replaces() -> None:
    n, m = baton.tir.Var("n", "int64"), baton.tir.Var("m", "int64")
    info = relax.TensorStructInfo((n + 1, m), "float32")
    known = {n: baton.tir.IntImm("int64", 2), m: m}
    assert repr(relax.analysis.erase_to_well_defined(info, known, {})) == 'R.Tensor((3, m), dtype="float32")'
