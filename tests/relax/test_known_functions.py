"""`KnownFunctions`: equal functions share a variable; functions that only look alike from outside do not."""

from __future__ import annotations

from baton._src.ir.expr import GlobalVar
from baton._src.relax.known_functions import KnownFunctions
from baton.script import tir as T


def _elementwise(constant: float, extent: int = 8):
    @T.prim_func(private=True)
    def kernel(a: T.Buffer((extent,), "float32"), b: T.Buffer((extent,), "float32")):
        for i in range(extent):
            with T.block("b"):
                vi = T.axis.spatial(extent, i)
                b[vi] = a[vi] * T.float32(constant)

    return kernel


def test_equal_functions_share_the_variable_of_the_first() -> None:
    known = KnownFunctions()
    first = known.var_of(_elementwise(2.0), lambda: GlobalVar("f"))
    other_shape = known.var_of(_elementwise(2.0, 16), lambda: GlobalVar("g"))
    other_body = known.var_of(_elementwise(3.0), lambda: GlobalVar("h"))
    assert [first.name_hint, other_shape.name_hint, other_body.name_hint] == ["f", "g", "h"]
    assert known.var_of(_elementwise(2.0), lambda: GlobalVar("again")) is first
    assert known.var_of(_elementwise(3.0), lambda: GlobalVar("again")) is other_body


def test_what_was_added_is_found() -> None:
    known, var = KnownFunctions(), GlobalVar("f")
    known.add(_elementwise(2.0), var)
    assert known.var_of(_elementwise(2.0), lambda: GlobalVar("again")) is var
