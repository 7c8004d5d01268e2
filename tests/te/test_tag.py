"""te.tag_scope: computations made inside have the tag."""

from __future__ import annotations

import pytest

from baton._src.te.computation import compute, extern, placeholder
from baton._src.te.tag import tag_scope
from baton._src.te.tensor import Tensor
from baton._src.tir.builders.extern_calls import call_extern


def double(x: Tensor, tag: str = "") -> Tensor:
    made: Tensor = compute(x.shape, lambda i: x[i] * 2.0, tag=tag)
    return made


def test_computations_inside_are_tagged() -> None:
    """Guards `with` and the decorator, for computations and hand-made code, and that the scope ends."""
    x = placeholder((4,))
    with tag_scope(tag="twice"):
        inside = double(x)
        made = extern((4,), [x], lambda ins, outs: call_extern("int32", "f", outs[0].data))
    assert inside.op.tag == made.op.tag == "twice"
    assert tag_scope("again")(double)(x).op.tag == "again"
    assert double(x).op.tag == ""


def test_tags_are_not_nested() -> None:
    """Guards that a second tag is refused, that errors end the scope, and that a tag nobody took is told."""
    x = placeholder((4,))
    with pytest.raises(ValueError, match="nested tag"), tag_scope("outer"):
        double(x, tag="own")
    with pytest.raises(ValueError, match="nested tag"), tag_scope("outer"), tag_scope("inner"):
        pass
    assert double(x).op.tag == ""
    with pytest.warns(UserWarning, match="no computation"), tag_scope("unused"):
        pass
