"""What `inspect --memory` says of a call."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton
from baton._src.driver.tvm_names.scripts import from_source
from tests.passes.relax.programs import R, program, tensor, weights


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


MEASURE = """
import re, sys
from pathlib import Path
import numpy as np
from baton._src.driver.compile.open_model import open_model

def resident(field):
    return int(re.search(rf"^{field}:\\s+(\\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)[1]) * 1024

open_model(sys.argv[2], num_threads=1)(np.ones(3, "float32"))  # whatever is imported, linked and started once
x = np.ones((1024, 4096), "float32")
Path("/proc/self/clear_refs").write_text("5")
before = resident("VmRSS")
model = open_model(sys.argv[1], num_threads=1)
for _ in range(2):
    result = model(x)
    del result
print(resident("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's account of memory")
def test_a_run_takes_what_the_plan_says(tmp_path: Path) -> None:
    """Guards the promise: the peak of a run is within 10 % of constants, arena and outputs as `inspect` prints them."""

    def build(b: Any, x: Any) -> Any:
        y = b.emit(R.nn.softmax(x))
        z = b.emit(R.matmul(b.emit(R.sum(y, axis=[0], keepdims=True)), weights(4096, 4096)))
        return R.nn.softmax(b.emit(R.add(b.emit(R.nn.softmax(y)), z)))

    model = baton.compile(program([tensor("x", 1024, 4096)], build))
    tiny = baton.compile(program([tensor("x", 3)], lambda b, x: R.add(x, x)))
    model.save(tmp_path / "model.baton")
    tiny.save(tmp_path / "tiny.baton")
    said = re.search(r"a call needs (\d+) bytes: constants", model.memory_plan)
    assert said is not None
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "model.baton"), str(tmp_path / "tiny.baton")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == pytest.approx(int(said[1]), rel=0.1)
