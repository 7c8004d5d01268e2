"""`tvm.rpc.LocalSession`: scripts for boards run in this process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import baton
from baton import rpc, te


def test_a_kernel_is_uploaded_loaded_and_called(tmp_path: Path) -> None:
    a = te.placeholder((16,), name="a")
    b = te.compute((16,), lambda i: a[i] + 1.0, name="b")
    baton.build(te.create_schedule(b.op), [a, b], target="llvm", name="add_one").export_library(tmp_path / "lib.tar")
    remote = rpc.LocalSession()
    remote.upload(str(tmp_path / "lib.tar"))
    kernel = remote.load_module("lib.tar")
    device = remote.cpu()
    x, y = baton.nd.array(np.arange(16, dtype="float32"), device), baton.nd.array(np.zeros(16, "float32"), device)
    kernel(x, y)
    np.testing.assert_array_equal(y.numpy(), x.numpy() + 1)
    assert kernel.time_evaluator(kernel.entry_name, remote.device("cpu"), number=1)(x, y).mean > 0


def test_files_come_back_and_go_away() -> None:
    remote = rpc.LocalSession()
    remote.upload(b"abc", target="note.txt")
    assert remote.download("note.txt") == b"abc"
    remote.remove("note.txt")
    with pytest.raises(baton.error.DiagnosticError, match=r"'note.txt' was not uploaded\n  help: uploaded: nothing"):
        remote.download("note.txt")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/b"])
def test_names_do_not_lead_out_of_the_session(name: str) -> None:
    with pytest.raises(baton.error.DiagnosticError, match="is not the name of an uploaded file"):
        rpc.LocalSession().upload(b"", target=name)


def test_bytes_need_a_name() -> None:
    with pytest.raises(ValueError, match="uploaded bytes need a name"):
        rpc.LocalSession().upload(b"abc")


def test_errors_that_scripts_catch_around_sessions() -> None:
    assert issubclass(baton.error.RPCError, baton.error.TVMError)
    assert issubclass(baton.error.RPCSessionTimeoutError, baton.error.RPCError)
    assert issubclass(baton.error.RPCSessionTimeoutError, TimeoutError)
