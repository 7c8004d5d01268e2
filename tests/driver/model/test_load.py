"""Loading needs neither the compiler nor what it takes to import it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

import baton
from baton._src.driver.model.load import load
from baton.script import ir as I
from baton.script import relax as R

PROGRAM = """
import sys, numpy as np, baton
model = baton.load(sys.argv[1])
(found,) = model(np.ones(4, "float32"))
print(found.tolist(), *sorted({m.split(".")[2] for m in sys.modules if m.startswith("baton._src.")}))
"""


@I.ir_module
class Twice:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.add(x, x)


@I.ir_module
class OfAnyRank:
    @R.function
    def main(x: R.Tensor("float32")) -> R.Tensor("float32"):
        return R.add(x, x)


def test_loading_imports_no_compiler(tmp_path: Path) -> None:
    """Guards the time to start: a fresh process that loads and runs imports the runtime only."""
    path = tmp_path / "twice.baton"
    baton.compile(Twice).save(path)
    done = subprocess.run([sys.executable, "-c", PROGRAM, path], capture_output=True, text=True, check=True)
    assert done.stdout.split("]") == ["[2.0, 2.0, 2.0, 2.0", " driver runtime support values\n"]


def test_the_compiler_is_imported_when_it_is_needed(tmp_path: Path) -> None:
    """Guards programs that compile operators while they run."""
    path = tmp_path / "any.baton"
    baton.compile(OfAnyRank).save(path)
    done = subprocess.run([sys.executable, "-c", PROGRAM, path], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[2.0, 2.0, 2.0, 2.0]")
    assert "codegen" in done.stdout


def test_schedules_are_known_after_loading(tmp_path: Path) -> None:
    """Guards what `inspect` says of artifacts: the rule of each kernel."""
    path = tmp_path / "twice.baton"
    model = baton.compile(Twice)
    model.save(path)
    assert [k.summary for k in load(path).kernels] == [k.summary for k in model.kernels]
    np.testing.assert_array_equal(load(path)(np.float32([1, 2, 3, 4]))[0], np.float32([2, 4, 6, 8]))


def test_a_hit_of_the_cache_imports_no_compiler(tmp_path: Path) -> None:
    """Guards the time to start with `compile` on a model that was compiled before; `transform` is the PassContext."""
    path = tmp_path / "m.onnx"
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", [x], [y])
    path.write_bytes(helper.make_model(graph).SerializeToString())
    settings = (
        "import baton._src.driver.compile.program_cache as c; c.WORTHWHILE = 0; c.source_fingerprint = lambda: 'this'\n"
    )
    program = settings + PROGRAM.replace("baton.load(", "baton.compile(")
    cache = {"BATON_CACHE": "1", "BATON_CACHE_PROGRAMS": "64", "BATON_CACHE_DIR": str(tmp_path / "cache")}
    environment = {**os.environ, **cache}
    command = [sys.executable, "-c", program, path]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True, env=environment) for _ in range(2)]
    assert "relax" in runs[0].stdout
    assert runs[1].stdout.split("]") == ["[2.0, 2.0, 2.0, 2.0", " codegen driver ir runtime support transform values\n"]
