"""Options of passes of the wrong kind: refused by name, before the pass fails inside."""

from __future__ import annotations

from typing import Any

import pytest

from baton import relax, relay
from baton._src.support.diagnostics import DiagnosticError
from baton.script import ir as I
from baton.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32")):
        return R.add(x, x)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (relax.transform.FuseOps("2"), r"FuseOps: fuse_opt_level is declared int, got '2' \(str\)"),
        (relax.transform.LegalizeOps(3), r"customize_legalize_map is declared Mapping\[str, Callable"),
        (relax.transform.DeadCodeElimination("main"), r"Sequence\[str\] \| None, got 'main' .*\n.*\['main'\]"),
        (relax.transform.BindParams("main", 3), r"params is declared Mapping\[Any, Any\], got 3"),
        (relax.transform.CombineParallelMatmul(3), "check is declared Callable"),
    ],
)
def test_wrong_kinds_are_named(step: Any, said: str) -> None:
    """These were internal errors with a reproducer, or were taken letter by letter."""
    with pytest.raises(TypeError, match=said) as caught:
        step(Module)
    assert isinstance(caught.value, DiagnosticError)


@pytest.mark.parametrize(
    "step",
    [
        relax.transform.FuseOps(fuse_opt_level=relay.const([1]).data.shape[0]),
        relax.transform.DeadCodeElimination(("main",)),
        relax.transform.DeadCodeElimination(None),
        relax.transform.LiftTransformParams(shared_transform=True),
        relax.transform.EliminateCommonSubexpr(call_only=1),
        relax.transform.LegalizeOps({}, enable_warning=True),
        relax.transform.CombineParallelMatmul(check=lambda *_: True),
    ],
    ids=str,
)
def test_what_fits_runs(step: Any) -> None:
    assert step(Module)["main"] is not None


def test_what_a_constructor_reads_is_checked_there() -> None:
    with pytest.raises(TypeError, match=r"ConvertLayout: desired_layouts is declared Mapping\[str, Sequence\[str\]\]"):
        relay.transform.ConvertLayout(["nn.conv2d"])
