"""What `inspect --memory` says of a call."""

from __future__ import annotations

import re

import numpy as np

import baton
from baton._src.driver.tvm_names.scripts import from_source


def _report(rows: str) -> str:
    model = baton.compile(
        from_source(f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(({rows}, 64), "float32"), w: R.Tensor((64, 64), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.matmul(R.nn.relu(a), w)
            R.output(b)
        return b
"""),
        params={"w": np.ones((64, 64), np.float32)},
    )
    text: str = model.memory_plan
    return text


def test_a_call_is_summed_up() -> None:
    """Guards the sum: weights (packed or not), one intermediate, one output."""
    found = re.search(r"a call needs (\d+) bytes: ", _report("32"))
    assert found is not None
    assert int(found[1]) == 64 * 64 * 4 + 2 * 32 * 64 * 4


def test_open_sizes_are_shown_as_expressions() -> None:
    """Guards symbolic shapes: what depends on them is a formula."""
    text = _report('"n"')
    assert re.search(r"a call needs \d+ bytes \+ \(arena: .*n.*\) \+ \(output 0: .*n.*\)", text)
