"""`import tvm` finds baton: the same module objects, never over an installed TVM."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


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


def test_an_installed_tvm_is_not_shadowed(tmp_path: Path) -> None:
    (tmp_path / "tvm.py").write_text("who = 'the real one'")
    code = "from baton import alias\ntry:\n    alias.install('tvm')\nexcept ImportError as error:\n    print(error)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path
    )
    assert "does not shadow" in done.stdout
