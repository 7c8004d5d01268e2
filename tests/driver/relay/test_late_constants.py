"""Large constants of the Relay machine's executables in a file of their own: taken out, saved without, loaded again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.support.diagnostics import DiagnosticError
from baton.runtime.vm import Executable, VirtualMachine

LARGE = np.random.default_rng(0).random((16, 8), "float32")
X = np.ones((16, 8), "float32")
EXPECTED = X * LARGE + np.float32(2)


def compiled() -> Executable:
    x = relay.var("x", shape=(16, 8))
    small = relay.const(np.full((8,), 2, "float32"))
    made: Executable = relay.vm.compile(relay.Function([x], x * relay.const(LARGE) + small), target="llvm")
    return made


def value(executable: Executable) -> Any:
    return VirtualMachine(executable, baton.cpu()).invoke("main", X).numpy()


def test_a_map_there_and_back() -> None:
    executable = compiled()
    taken = executable.get_late_bound_consts(byte_limit=256)
    assert list(taken) == ["const_0"]
    np.testing.assert_array_equal(taken["const_0"].numpy(), LARGE)
    executable.load_late_bound_consts_from_map(taken)
    np.testing.assert_allclose(value(executable), EXPECTED, rtol=1e-6)
    doubled = {"const_0": LARGE * 2}
    executable.get_late_bound_consts(byte_limit=256)
    executable.load_late_bound_consts_from_map(doubled)
    np.testing.assert_allclose(value(executable), X * LARGE * 2 + 2, rtol=1e-6)


def test_a_file_beside_the_library(tmp_path: Path) -> None:
    executable = compiled()
    executable.move_late_bound_consts(tmp_path / "consts", byte_limit=256)
    code, library = executable.save()
    library.export_library(str(tmp_path / "lib.so"))
    assert LARGE.tobytes() not in (tmp_path / "lib.so").read_bytes()
    loaded = Executable.load_exec(code, baton.runtime.load_module(str(tmp_path / "lib.so")))
    loaded.load_late_bound_consts(tmp_path / "consts")
    np.testing.assert_allclose(value(loaded), EXPECTED, rtol=1e-6)
    again = Executable.load_exec(code, library)  # what is loaded into one is not loaded into another
    again.load_late_bound_consts(tmp_path / "consts")
    np.testing.assert_allclose(value(again), EXPECTED, rtol=1e-6)
    with pytest.raises(DiagnosticError, match="not loaded yet"):
        value(executable)


def test_nothing_is_large_enough(tmp_path: Path) -> None:
    executable = compiled()
    executable.move_late_bound_consts(tmp_path / "consts", byte_limit=1 << 20)
    np.testing.assert_allclose(value(executable), EXPECTED, rtol=1e-6)
    executable.load_late_bound_consts(tmp_path / "consts")
    np.testing.assert_allclose(value(executable), EXPECTED, rtol=1e-6)


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (value, "const_0 are not loaded yet"),
        (lambda e: e.get_late_bound_consts(0), "already moved out"),
        (lambda e: e.load_late_bound_consts_from_map({}), "'const_0' is missing"),
        (lambda e: e.load_late_bound_consts_from_map({"const_0": LARGE, "w": X}), "does not wait for constants w"),
        (lambda e: e.load_late_bound_consts_from_map({"const_0": LARGE[1:]}), r"'const_0' is \(15, 8\) of float32"),
        (lambda e: e.load_late_bound_consts_from_map({"const_0": LARGE.astype("float64")}), "of float64"),
    ],
)
def test_what_does_not_fit(use: Callable[[Executable], Any], says: str) -> None:
    executable = compiled()
    executable.get_late_bound_consts(256)
    with pytest.raises(DiagnosticError, match=says):
        use(executable)
    executable.load_late_bound_consts_from_map({"const_0": LARGE})  # a mistake changed nothing
    np.testing.assert_allclose(value(executable), EXPECTED, rtol=1e-6)
