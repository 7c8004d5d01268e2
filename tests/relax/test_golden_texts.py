"""Golden texts of Relax: what people read after printing, after each stage of compiling, and when they err."""

from __future__ import annotations

from typing import Any

import pytest

import baton
from baton._src.passes.pipelines import kernels, simplify
from baton.script import ir as I
from baton.script import relax as R
from baton.script import tir as T


@I.ir_module
class Network:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 4), "float32"), flag: R.Tensor((), "bool")) -> R.Tensor(
        ("n", 4), "float32"
    ):
        n = T.int64()
        with R.dataflow():
            product = R.matmul(x, w)
            shifted = R.add(product, R.const(1.0, "float32"))
            active = R.nn.relu(shifted)
            R.output(active)
        if flag:
            y = R.nn.softmax(active, axis=-1)
        else:
            y = R.match_cast(active, R.Tensor((n, 4), "float32"))
        return y


def test_printed(golden: Any) -> None:
    """Decorators, annotations, symbolic variables, branches."""
    golden.check(Network.script(show_meta=True))


@pytest.mark.parametrize("stage", ["simplify", "kernels"])
def test_stages(stage: str, golden: Any) -> None:
    """The program after graph passes, and as fused kernels."""
    module = Network
    for step in (*simplify(), *(kernels() if stage == "kernels" else ())):
        module = step(module)
    golden.check(module.script())


WRONG = {
    "shapes": """
@R.function
def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((4, 5), "float32")):
    y = R.matmul(x, w)
    return y
""",
    "names": """
@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = R.nn.relux(x)
    z = R.add(y, missing)
    return z
""",
    "purity": """
@R.function
def main(x: R.Tensor((2, 3), "float32")):
    _ = R.print(x, format="{}")
    return x
""",
}


@pytest.mark.parametrize("mistake", WRONG)
def test_diagnostics(mistake: str, golden: Any) -> None:
    """Code, place, carets, help."""
    with pytest.raises(baton.DiagnosticError) as raised:
        baton.script.from_source(WRONG[mistake])
    golden.check(str(raised.value))


def test_mismatch_report(golden: Any) -> None:
    """Both sides, the differing term underlined."""
    text = Network.script(show_meta=True).replace("R.nn.relu", "R.exp")
    with pytest.raises(ValueError, match="main") as raised:
        baton.ir.assert_structural_equal(Network, baton.script.from_source(text))
    golden.check(str(raised.value))
