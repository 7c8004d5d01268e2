"""`R.Tensor(s)` where the shape `s` is another parameter or comes from outside: every machine checks it."""

from __future__ import annotations

import numpy as np
import pytest

from baton import relax
from baton._src.ir.structural import structural_equal
from baton._src.relax.text.printer import script
from baton._src.relax.well_formed import well_formed
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import array
from tests.relax.build import load, module
from tests.relax.machines import everywhere, fails_everywhere

HELD = """
@R.function
def main(s: R.Shape(ndim=2), x: R.Tensor(s, "float32")) -> R.Tensor(s, "float32"):
    return R.negative(x)
"""
INNER = """
@R.function
def main(s: R.Shape(ndim=2), x: R.Tensor(ndim=2, dtype="float32")):
    @R.function
    def inner(r: R.Shape(ndim=2), y: R.Tensor(r, "float32"), w: R.Tensor(s, "float32")) -> R.Tensor(s, "float32"):
        return R.add(y, w)
    return inner(R.shape([2, 3]), x, x)
"""


def of(*shape: int) -> object:
    return array(np.ones(shape, np.float32))


@pytest.mark.rule("RELAX-SINFO-05")
@pytest.mark.parametrize("text", [HELD, INNER])
def test_a_tensor_has_the_shape_that_a_parameter_holds(text: str) -> None:
    assert everywhere(text, ShapeTuple([2, 3]), of(2, 3)).shape == (2, 3)


@pytest.mark.rule("RELAX-MATCH-2-1", rejects=True)
@pytest.mark.parametrize("text", [HELD, INNER])
@pytest.mark.parametrize("held", [(2, 2), (3, 2)])
def test_a_tensor_of_another_shape_is_refused(text: str, held: tuple[int, ...]) -> None:
    """The machines had no shape to compare with; lifted functions forgot that there is one."""
    fails_everywhere(text, ShapeTuple(held), of(2, 3), code="value-mismatch")


@pytest.mark.rule("RELAX-SCRIPT-12")
@pytest.mark.parametrize("text", [HELD, INNER])
def test_signatures_that_name_their_parameters_read_back(text: str) -> None:
    made = module(text)
    assert structural_equal(load(script(made)), made)


@pytest.mark.rule("RELAX-SINFO-05")
def test_what_is_known_of_a_function_names_none_of_its_parameters() -> None:
    """A caller could not look them up; lifted, the function is well-formed, and its checks are casts."""
    main = module(INNER)["main"]
    known = main.body.blocks[0].bindings[0].var.struct_info
    assert [info.shape for info in known.params[1:]] == [None, main.params[0]]
    lifted = relax.transform.LambdaLift()(module(INNER))
    assert well_formed(lifted) == []
    assert script(lifted).count("R.match_cast") == 2
