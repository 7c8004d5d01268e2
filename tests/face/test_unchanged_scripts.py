"""Scripts as people who use TVM v0.19 have them (`scripts/*.txt`), run as they are; each checks its own results."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import baton.alias

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.txt"))


@pytest.fixture(scope="module", autouse=True)
def alias() -> Iterator[None]:
    """`import tvm` finds baton, in this file only."""
    finders = list(sys.meta_path)
    baton.alias.install()
    yield
    sys.meta_path[:] = finders
    for name in [n for n in sys.modules if n.partition(".")[0] == "tvm"]:
        del sys.modules[name]


@pytest.mark.parametrize("script", [s for s in SCRIPTS if s.stem != "test_file"], ids=lambda s: s.stem)
def test_script(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards API and values: signatures, defaults, kinds of errors, numbers."""
    if "import torch" in script.read_text(encoding="utf-8"):
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")


def test_a_file_of_tests(tmp_path: Path) -> None:
    """Guards `tvm.testing` under pytest: parameters that go together, fixtures in classes, targets."""
    file = tmp_path / "test_file.py"
    file.write_text((SCRIPTS[0].parent / "test_file.txt").read_text(encoding="utf-8"), encoding="utf-8")
    call = [sys.executable, "-m", "baton.alias", str(file), "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(call, capture_output=True, text=True, check=False, cwd=Path(baton.__file__).parents[1])
    assert done.returncode == 0, done.stdout
    assert "8 passed, 1 skipped" in done.stdout
