"""Bindings that change places stay before the calls that overwrite what they read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.passes.relax.bindings.topological_sort import TopologicalSort
from baton._src.relax.interpreter import Interpreter
from baton.relax.dpl import PatternContext, is_op, rewrite_bindings, wildcard
from baton.script import relax as R
from tests.relax.build import module
from tests.relax.machines import table

IN_PLACE = """
@R.function
def main(x: R.Tensor((3,), "float32"), w: R.Tensor((3,), "float32")):
    with R.dataflow():
        y = R.add(x, w)
        v = R.exp(w)
        a = R.add(y, v)
        z = R.call_inplace_packed("test.inc", y, inplace_indices=[0], sinfo_args=R.Tensor((3,), "float32"))
        u = R.multiply(a, z)
        R.output(u)
    return u
"""


def _increased(x: Any) -> Any:
    x.data[...] += 1
    return x


def _run(whole: IRModule) -> Any:
    args = (np.array(values, np.float32) for values in ([1, 2, 3], [0, 1, 2]))
    return Interpreter(whole, table(inc=_increased))["main"](*args).numpy()


@pytest.mark.rule("RELAX-PASS-04")
@pytest.mark.parametrize("order", ["depth-first", "breadth-first"])
@pytest.mark.parametrize("direction", ["from-inputs", "from-outputs"])
def test_what_reads_a_tensor_is_sorted_before_its_change(order: str, direction: str) -> None:
    """`a` needs `v` and so comes late; it came after `z`, which overwrites the `y` that it reads."""
    before = module(IN_PLACE)
    np.testing.assert_array_equal(_run(TopologicalSort(order, direction)(before)), _run(before))


def test_what_is_rewritten_in_a_block_stays_before_the_change() -> None:
    """Bindings whose operands come later now are moved: not over the change of what others read."""
    with PatternContext() as context:
        total = is_op("relax.add")(wildcard(), is_op("relax.exp")(wildcard()))
    before = module(IN_PLACE)
    main = before.get_global_var("main")

    def rewrite(found: Any, values: Any) -> Any:
        one, other = values[found[total]].args
        return {found[total]: R.subtract(one, R.negative(other))}

    after = before.with_functions({main: rewrite_bindings(context, rewrite, before[main])})
    assert "R.subtract" in repr(after)
    np.testing.assert_allclose(_run(after), _run(before))
