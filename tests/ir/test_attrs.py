"""What records of attributes know of their declaration."""

import pytest

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpDef
from baton._src.ops.call_maker import make_attrs
from baton._src.support.diagnostics import DiagnosticError


@attrs
class Evaluated(Attrs):
    """Of a file without `from __future__ import annotations`, as this one."""

    count: int = attr(1)
    factor: float = attr(1.0)
    is_open: bool = attr(False)
    name: str | None = attr(None)


@attrs
class Derived(Evaluated):
    """With an attribute more."""

    width: int = attr(2)


WORDS = {"count": "int", "factor": "float", "is_open": "bool", "name": "str | None"}


def test_kinds_are_words_whether_annotations_are_evaluated() -> None:
    assert Evaluated.kinds == WORDS
    assert Derived.kinds == {**WORDS, "width": "int"}
    assert Derived(is_open=1).is_open is True


@pytest.mark.parametrize(("name", "value"), [("count", 1.5), ("factor", "x"), ("is_open", "yes"), ("width", None)])
def test_calls_of_other_kinds_are_refused(name: str, value: object) -> None:
    """Guards operators of users' own files: only annotations kept as texts were looked at."""
    operator = OpDef(
        "test.evaluated",
        Derived,
        inputs=(Input("x"),),
        infer=lambda call: call.args[0],
        compute=NotApplicable("not run"),
        reference=NotApplicable("not run"),
        fusion=Fusion.OPAQUE,
    )
    with pytest.raises(DiagnosticError, match=f"test.evaluated: {name} is"):
        make_attrs(operator, {name: value})
