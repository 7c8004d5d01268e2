"""Names of functions and operators that scripts give to passes name something: misspelt ones were passed over."""

from __future__ import annotations

import pytest

from baton import relax
from baton._src.support.diagnostics import DiagnosticError
from baton.relax.dpl import is_op, wildcard
from tests.passes.relax.programs import called, program, tensor, weights
from tests.relax.build import module

PASSES = relax.transform
CONV = program([tensor("x", 1, 3, 8, 8)], lambda b, x: relax.op.nn.conv2d(x, weights(4, 3, 3, 3)))


@pytest.mark.rule("RELAX-PASS-18", rejects=True)
def test_entry_functions_are_functions_of_the_module() -> None:
    pattern = [("mine.relu", is_op("relax.nn.relu")(wildcard()))]
    for made in (PASSES.FuseOpsByPattern(pattern, entry_functions=["mian"]), PASSES.RunCodegen(None, ["mian"])):
        with pytest.raises(DiagnosticError, match="has no function 'mian'"):
            made(CONV)


def test_patterns_are_looked_for_in_entry_functions_only() -> None:
    both = module("""
@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        y = R.nn.relu(x)
        R.output(y)
    return y

@R.function
def other(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        y = R.nn.relu(x)
        R.output(y)
    return y
""")
    after = PASSES.FuseOpsByPattern([("mine.relu", is_op("relax.nn.relu")(wildcard()))], entry_functions=["main"])(both)
    assert called(after, "main") == ["fused_relax_nn_relu"]
    assert called(after, "other") == ["nn.relu"]


@pytest.mark.rule("RELAX-PASS-20")
def test_layouts_are_wanted_of_operators() -> None:
    """With or without the prefix; without it nothing was converted."""
    for name in ("relax.nn.conv2d", "nn.conv2d"):
        after = PASSES.ConvertLayout({name: ["NHWC", "OHWI"]})(CONV)
        assert called(after) == ["permute_dims", "permute_dims", "nn.conv2d", "permute_dims"]
    with pytest.raises(DiagnosticError, match=r"relax\.nn\.conv2dd"):
        PASSES.ConvertLayout({"relax.nn.conv2dd": ["NHWC", "OHWI"]})(CONV)
