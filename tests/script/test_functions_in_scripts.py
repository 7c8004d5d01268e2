"""Lambdas and comprehensions in scripts under a decorator are Python's own; `R.emit_te` calls what they compute."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.relax.text.printer import script
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te.computation import compute
from baton._src.values.tensor import NDArray
from tests.relax.build import ROOTS, load
from tests.relax.machines import everywhere

IR, R, T = ROOTS["I"], ROOTS["R"], ROOTS["T"]
HEAD = '@R.function\ndef main(x: R.Tensor((4,), "float32")):\n'


@pytest.mark.rule("RELAX-SCRIPT-06")
def test_comprehensions_see_python_and_the_program() -> None:
    """They were refused."""
    count, sizes = 2, {"a": 3}

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.concat([R.add(x, R.const(float(i), "float32")) for i in range(count)] + [x])
        z = R.sum(y, axis=[axis - 1 for axis in range(1)])
        return (z, {name: size + 1 for name, size in sizes.items()}["a"])

    total, four = everywhere(IRModule({"main": main}), NDArray(np.ones(4, np.float32)))
    assert float(total.numpy()) == 4 * (1 + 2 + 1)
    assert int(four.numpy()) == 4


@pytest.mark.rule("RELAX-SCRIPT-06")
def test_a_map_of_indices_may_use_python_s_variables() -> None:
    width = 2

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.layout_transform(x, index_map=lambda i: (i // width, i % width))
        return y

    text = HEAD + "    y = R.layout_transform(x, index_map=lambda i: (i // 2, i % 2))\n    return y\n"
    assert_structural_equal(main, load(text))


@pytest.mark.rule("RELAX-SCRIPT-01")
def test_emit_te_adds_the_kernel_to_the_module() -> None:
    """The kernel was lost; a lambda was read as a map of indices. Names that the module has are left alone."""
    factor = 2

    @IR.ir_module
    class Module:
        @R.function
        def outer(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return x

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4, 3), "float32"):
            y = R.emit_te(lambda a: compute((4, 3), lambda i, j: a[i] * factor + j), x, primfunc_name_hint="outer")
            z = R.emit_te(lambda a: compute((4, 3), lambda i, j: a[i, j] + 1.0), y)
            return z

    names = [v.name_hint for v in Module.functions]
    assert names[:2] == ["outer", "main"]
    assert len(set(names)) == 4
    expected = np.arange(4)[:, None] * 2.0 + np.arange(3) + 1
    np.testing.assert_allclose(everywhere(Module, NDArray(np.arange(4, dtype=np.float32))).numpy(), expected)
    assert_structural_equal(load(script(Module)), Module)


@pytest.mark.rule("RELAX-SCRIPT-01", rejects=True)
def test_a_function_by_itself_has_no_place_for_a_kernel() -> None:
    with pytest.raises(DiagnosticError, match="has no module to hold them"):

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = R.emit_te(lambda a: compute((4,), lambda i: a[i]), x)
            return y


@pytest.mark.rule("RELAX-SCRIPT-06")
def test_dims_of_a_type_are_scalars() -> None:
    """`x.struct_info.shape[0]` was read as the item of a tuple."""

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.zeros((x.struct_info.shape[0], 2), "float32")
        return y

    assert_structural_equal(main, load(HEAD + '    y = R.zeros((4, 2), "float32")\n    return y\n'))
