"""`import tvm` finds baton: the same module objects, never over an installed TVM."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import baton


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = folder / "script.py"
    script.write_text(code)
    return subprocess.run(
        [sys.executable, "-m", "baton.alias", str(script), "argument"],
        capture_output=True, text=True, timeout=120, check=False, cwd=folder,
    )  # fmt: skip


def test_modules_are_the_same_objects(tmp_path: Path) -> None:
    code = """
import sys
import tvm, tvm.testing, baton.relay.op.nn
from tvm import relay, relax, te, tir
from tvm.script import ir as I, relax as R, tir as T
import tvm.relay.op.nn
import baton.relax
assert tvm.relay.op.nn is baton.relay.op.nn
assert relax is baton.relax
assert tvm.nd.array([1, 2]).numpy().tolist() == [1, 2]
assert tvm.cpu(0).exist
assert sys.argv[1:] == ["argument"] and __name__ == "__main__"
print("fine")
"""
    done = run(code, tmp_path)
    assert done.stdout.strip() == "fine", done.stderr


def test_missing_modules_stay_missing(tmp_path: Path) -> None:
    done = run("import tvm.no_such_thing", tmp_path)
    assert "No module named 'tvm.no_such_thing'" in done.stderr


def test_modules_named_like_a_function_are_imported_and_leave_it_its_name(tmp_path: Path) -> None:
    code = """
import importlib
import tvm.topi.nn.conv2d
from tvm.relay.transform.recast import recast
from tvm.topi.nn.pad import pad
from baton._src.driver.tvm_names.split_modules import NAMED_LIKE_A_FUNCTION
assert recast is tvm.relay.transform.recast and pad is tvm.topi.nn.pad
for package, names in NAMED_LIKE_A_FUNCTION.items():
    for name in names:
        module = importlib.import_module(f"tvm.{package}.{name}")
        function = getattr(importlib.import_module(f"tvm.{package}"), name)
        assert getattr(module, name) is function and not isinstance(function, type(module)), name
print("fine")
"""
    done = run(code, tmp_path)
    assert done.stdout.strip() == "fine", done.stderr


def test_an_installed_tvm_is_not_shadowed(tmp_path: Path) -> None:
    (tmp_path / "tvm.py").write_text("who = 'the real one'")
    code = "from baton import alias\ntry:\n    alias.install('tvm')\nexcept ImportError as error:\n    print(error)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path
    )
    assert "does not shadow" in done.stdout


def test_the_root_has_the_version_of_the_api_and_what_is_left_out_says_why(tmp_path: Path) -> None:
    code = """
import importlib
import baton, tvm
assert tvm.__version__ == "0.19.0" and baton.__version__ != tvm.__version__
assert tvm.relay is baton.relay and "relay" in dir(tvm)
for name, why in {
    "tvm.autotvm.tophub": "scheduled by rules",
    "tvm.rpc.proxy": "where scripts reach them",
    "tvm.relay.frontend.tensorflow": "from_onnx",
    "tvm.contrib.nvcc": "for CPUs",
}.items():
    try:
        importlib.import_module(name)
    except ImportError as error:
        assert "baton leaves out" in str(error) and why in str(error), error
    else:
        raise SystemExit(name)
try:
    from tvm.auto_scheduler import SearchTask, EmptyPolicy
except ImportError as error:
    assert "one way to search" in str(error), error
try:
    tvm.meta_schedule.cost_model
except AttributeError as error:
    assert "every candidate is measured" in str(error), error
assert not hasattr(tvm, "micro")
print("fine")
"""
    done = run(code, tmp_path)
    assert done.stdout.strip() == "fine", done.stderr


def test_a_name_that_was_mistyped_is_no_part_left_out() -> None:
    with pytest.raises(AttributeError) as caught:
        _ = baton.relay.frontend.from_onx
    assert "leaves out" not in str(caught.value)


def test_every_spelling_of_an_import_says_why_a_part_is_left_out(tmp_path: Path) -> None:
    """Guards `from tvm.x import y`, where Python itself would only say that the name cannot be imported."""
    code = """
for line, why in {
    "from tvm.contrib import nvcc": "tvm.contrib.nvcc: baton compiles for CPUs",
    "from tvm.contrib import utils, ndk": "tvm.contrib.ndk: baton's libraries need no compiler",
    "from tvm.driver.tvmc import micro": "tvm.driver.tvmc.micro: baton generates code for processes",
    "from tvm.autotvm import tophub": "scheduled by rules",
    "from tvm.relay.op.contrib import tensorrt": "register_pattern_table",
    "from tvm.relay.op.contrib.dnnl import partition_for_dnnl": "register_pattern_table",
    "from tvm.target import datatype": "dtypes are those of NumPy",
    "from tvm.relay.quantize._calibrate import calibrate": "relay.quantize has",
    "import tvm.contrib.cutlass.build": "for CPUs",
}.items():
    try:
        exec(line)
    except ImportError as error:
        assert "baton leaves out tvm." in str(error) and why in str(error), (line, error)
    else:
        raise SystemExit(line)
try:
    from tvm.contrib import grph_executor
except ImportError as error:
    assert "leaves out" not in str(error)
print("fine")
"""
    done = run(code, tmp_path)
    assert done.stdout.strip() == "fine", done.stderr


def test_modules_that_tvm_splits_further_are_served_by_their_packages(tmp_path: Path) -> None:
    code = """
from tvm import relay, target
from tvm.relay.op.nn.nn import conv2d
from tvm.relay.transform.fake_quantization_to_integer import register_fake_quantization_to_integer
from tvm.target.target import Target
from tvm.tir.schedule.block_scope import BlockScope
from tvm.tir.transform.function_pass import prim_func_pass
from tvm.tir.transform.transform import Simplify
import tvm.relay.op.nn
assert Simplify is tvm.tir.transform.Simplify
assert conv2d is relay.nn.conv2d is tvm.relay.op.nn.conv2d and Target is target.Target
print("fine")
"""
    done = run(code, tmp_path)
    assert done.stdout.strip() == "fine", done.stderr
