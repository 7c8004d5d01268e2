"""Sessions on a server: functions, files, libraries, tensors and executors of the other side, and what goes wrong."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import baton
from baton import relax, relay, rpc, te
from baton._src.driver.tvm_names.remote.stubs import RemoteArray
from baton.contrib import graph_executor
from baton.contrib.debugger import debug_executor
from baton.error import DiagnosticError, RPCError, RPCSessionTimeoutError
from baton.relay import Function
from baton.rpc import RPCSession, Server
from baton.script import ir as I
from baton.script import relax as R

RNG = np.random.default_rng(0)


@pytest.fixture(params=[False, True], ids=["processes", "threads"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server whose sessions are processes, or threads."""
    with rpc.Server(key="board", silent=True, no_fork=request.param) as running:
        yield running


@pytest.fixture
def remote(server: Server) -> Iterator[RPCSession]:
    """A session on it."""
    session = rpc.connect("127.0.0.1", server.port, key="board")
    yield session
    session.close()


@pytest.fixture
def registered() -> Iterator[None]:
    """Functions that a server has, since it is a copy of this process."""
    functions = {
        "remote.add": lambda x, y: x + y,
        "remote.twice": lambda f, x: f(f(x)),
        "remote.adder": lambda x: lambda y: x + y,
        "remote.fails": lambda: [][1],
        "remote.same": lambda *values: list(values),
    }
    for name, function in functions.items():
        baton.register_func(name, function)
    yield
    for name in functions:
        baton._ffi.registry.remove_global_func(name)


def add_one() -> baton.runtime.Module:
    """A library with one kernel, y = x + 1."""
    x = te.placeholder((16,), name="x")
    y = te.compute((16,), lambda i: x[i] + 1.0, name="y")
    return baton.build(te.create_schedule(y.op), [x, y], target="llvm", name="add_one")


def uploaded(remote: RPCSession, library: object, path: Path) -> object:
    """A library, written to a file, sent there and loaded."""
    library.export_library(path)  # type: ignore[attr-defined]
    remote.upload(str(path))
    return remote.load_module(path.name)


@pytest.mark.usefixtures("registered")
def test_functions_take_and_give_values_and_functions(server: Server) -> None:
    """Guards calls in both directions: what is given as an argument is called back here."""
    remote = rpc.connect("127.0.0.1", server.port, key="board")
    seen: list[int] = []

    def noted(x: int) -> int:
        seen.append(x)
        return x + 10

    assert remote.get_function("remote.add")(2, 3) == 5
    assert remote.get_function("remote.twice")(noted, 1) == 21
    assert seen == [1, 11]
    assert remote.get_function("remote.adder")(4)(5) == 9
    values = (None, True, -(2**40), 0.5, "ß", (1, (2, "3")), {"a": 1}, baton.runtime.DataType("int8"))
    assert [*remote.get_function("remote.same")(*values)] == [*values]
    assert bytes(remote.get_function("remote.same")(b"\0\1")[0]) == b"\0\1"
    assert np.isnan(remote.get_function("remote.same")(float("nan"))[0])


@pytest.mark.usefixtures("registered")
def test_errors_come_back_with_their_kind(server: Server) -> None:
    remote = rpc.connect("127.0.0.1", server.port, key="board")
    with pytest.raises(IndexError, match="list index out of range"):
        remote.get_function("remote.fails")()
    with pytest.raises(RPCError, match="list index out of range"):
        remote.get_function("remote.fails")()
    with pytest.raises(ValueError, match=r"no packed function is registered as 'remote\.nothing'"):
        remote.get_function("remote.nothing")
    assert remote.get_function("remote.add")(1, 1) == 2, "the session goes on"


def test_files_come_back_and_go_away(remote: RPCSession) -> None:
    remote.upload(b"abc", target="note.txt")
    assert remote.download("note.txt") == b"abc"
    remote.remove("note.txt")
    with pytest.raises(RPCError, match=r"'note.txt' was not uploaded"):
        remote.download("note.txt")
    with pytest.raises(RPCError, match="is not the name of an uploaded file"):
        remote.upload(b"", target="../x")
    with pytest.raises(ValueError, match="uploaded bytes need a name"):
        remote.upload(b"abc")


def test_a_sessions_files_end_with_it(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against folders that nobody removes, as a session's process ends without cleaning up."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    remote = rpc.connect("127.0.0.1", server.port, key="board")
    remote.upload(b"abc", "x.bin")
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["x.bin"]
    remote.close()
    deadline = time.monotonic() + 30
    while any(tmp_path.iterdir()):
        assert time.monotonic() < deadline, "the folder is still there"
        time.sleep(0.01)


def test_tensors_live_there(remote: RPCSession) -> None:
    device = remote.cpu()
    data = RNG.standard_normal((2, 3)).astype("float32")
    x = baton.nd.array(data, device)
    assert isinstance(x, RemoteArray)
    assert isinstance(x, baton.nd.NDArray)
    assert (x.shape, str(x.dtype), x.device, len(x)) == ((2, 3), "float32", device, 2)
    assert str(device) == "remote[0]:cpu(0)"
    np.testing.assert_array_equal(x.numpy(), data)
    np.testing.assert_array_equal(baton.nd.array(data).copyto(x).numpy(), data)
    np.testing.assert_array_equal(x.copyto(baton.cpu()).numpy(), data)
    x[1] = 7
    assert x.numpy()[1].tolist() == [7, 7, 7]
    with pytest.raises(ValueError, match="read-only"):
        x.data[0] = 1
    with pytest.raises(DiagnosticError, match="would be none"):
        x._create_view((6,))
    half = baton.nd.array(data.astype("float16"), device)
    assert str(half.dtype) == "float16"
    assert baton.nd.empty((0, 4), "int8", device).numpy().shape == (0, 4)
    assert device.exist
    with pytest.raises(DiagnosticError, match=r"no device remote\[0\]:cuda\(0\)"):
        baton.nd.array(data, remote.device("cuda"))


def test_kernels_run_there(remote: RPCSession, tmp_path: Path) -> None:
    kernel = uploaded(remote, add_one(), tmp_path / "lib.tar")
    x = baton.nd.array(np.arange(16, dtype="float32"), remote.cpu())
    y = baton.nd.array(np.zeros(16, "float32"), remote.cpu())
    kernel(x, y)  # type: ignore[operator]
    np.testing.assert_array_equal(y.numpy(), x.numpy() + 1)
    assert kernel.entry_name == "add_one"  # type: ignore[attr-defined]
    assert kernel.time_evaluator("add_one", remote.cpu(), number=1)(x, y).mean > 0  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no kernel is named 'other'"):
        kernel["other"]  # type: ignore[index]


def test_tensors_of_here_are_no_arguments_there(remote: RPCSession, tmp_path: Path) -> None:
    """Guards results: what a function there wrote to a copy would be lost. The other way round, likewise."""
    library = add_one()
    kernel = uploaded(remote, library, tmp_path / "lib.tar")
    here, there = baton.nd.array(np.zeros(16, "float32")), baton.nd.array(np.zeros(16, "float32"), remote.cpu())
    with pytest.raises(RPCError, match="given to a function of another"):
        kernel(there, here)  # type: ignore[operator]
    with pytest.raises(DiagnosticError, match="tensor-read-only"):
        library(here, there)


def dense() -> tuple[Function, np.ndarray, np.ndarray]:
    """x @ w.T in Relay, and values of both."""
    x, w = relay.var("x", shape=(1, 8)), relay.var("w", shape=(4, 8))
    values = RNG.standard_normal((1, 8)).astype("float32"), RNG.standard_normal((4, 8)).astype("float32")
    return relay.Function([x, w], relay.nn.dense(x, w)), *values


def test_graphs_run_there(remote: RPCSession, tmp_path: Path) -> None:
    function, x, w = dense()
    library = relay.build(baton.IRModule.from_expr(function), target="llvm", params={"w": w})
    there = uploaded(remote, library, tmp_path / "net.tar")
    module = graph_executor.GraphModule(there["default"](remote.cpu()))  # type: ignore[index]
    module.set_input("x", baton.nd.array(x))
    module.run()
    np.testing.assert_allclose(module.get_output(0).numpy(), x @ w.T, rtol=1e-5)
    module.run(x=x + 1)
    np.testing.assert_allclose(module.get_output(0).numpy(), (x + 1) @ w.T, rtol=1e-5)
    assert module.get_num_inputs() == 1
    assert module.benchmark(remote.cpu(), number=1, repeat=2).mean > 0
    timer = module.module.time_evaluator("run", remote.cpu(), number=1, repeat=3)  # as scripts for boards measure
    assert len(timer().results) == 3
    with pytest.raises(RPCError, match="input-unknown"):
        module.set_input("z", x)
    created = graph_executor.create(library.get_graph_json(), there, remote.cpu())
    created.run(x=x)
    np.testing.assert_allclose(created.get_output(0).numpy(), x @ w.T, rtol=1e-5)
    debug = debug_executor.GraphModuleDebug(
        there["default"](remote.cpu()),
        [remote.cpu()],
        library.get_graph_json(),
        None,  # type: ignore[index]
    )
    debug.run(x=x)
    np.testing.assert_allclose(debug.get_output(0).numpy(), x @ w.T, rtol=1e-5)


def test_relay_machines_run_there(remote: RPCSession, tmp_path: Path) -> None:
    function, x, w = dense()
    executable = relay.vm.compile(baton.IRModule.from_expr(function), target="llvm")
    there = uploaded(remote, executable.mod, tmp_path / "vm.tar")
    machine = baton.runtime.vm.VirtualMachine(there, remote.cpu())
    tensors = [baton.nd.array(value, remote.cpu()) for value in (x, w)]
    np.testing.assert_allclose(machine.invoke("main", *tensors).numpy(), x @ w.T, rtol=1e-5)


@I.ir_module
class Both:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")):
        return R.tuple(R.add(x, x), R.multiply(x, x))


def test_relax_machines_run_there(remote: RPCSession, tmp_path: Path) -> None:
    there = uploaded(remote, relax.build(Both, "llvm"), tmp_path / "both.tar")
    machine = relax.VirtualMachine(there, remote.cpu())
    data = RNG.standard_normal((2, 3)).astype("float32")
    x = baton.nd.array(data, remote.cpu())
    total, product = machine["main"](x)
    np.testing.assert_allclose(total.numpy(), data + data)
    machine.set_input("main", x)
    machine.invoke_stateful("main")
    np.testing.assert_allclose(machine.get_outputs("main")[1].numpy(), product.numpy())
    assert machine.time_evaluator("invoke_stateful", remote.cpu(), number=1)("main").mean > 0


def test_what_is_no_longer_used_is_let_go(remote: RPCSession) -> None:
    """Guards the memory of long sessions: each tensor there goes when its stub here does."""
    kept = remote._peer.call(0, "tensor", (np.zeros(3, "float32"), remote.cpu()), {}, copies=True)
    for _ in range(50):
        baton.nd.array(np.zeros(3, "float32"), remote.cpu())
    after = baton.nd.array(np.zeros(3, "float32"), remote.cpu())
    del kept
    with pytest.raises(RPCError, match="there is no object 30 in this session"):
        remote._peer.call(30, "numpy", (), {}, copies=False)
    assert after.numpy().shape == (3,)


def test_objects_of_two_sessions_do_not_mix(server: Server) -> None:
    first, second = (rpc.connect("127.0.0.1", server.port, key="board") for _ in range(2))
    x = baton.nd.array(np.ones(2, "float32"), first.cpu())
    y = baton.nd.array(x.numpy(), second.cpu())
    with pytest.raises(RPCError, match="cannot be given to another"):
        second.get_function("vm.builtin.copy")(x)
    np.testing.assert_array_equal(y.copyfrom(x.numpy() * 2).numpy(), [2, 2])


def test_keys_tell_servers_apart(server: Server) -> None:
    with pytest.raises(RPCError, match="key is not 'other'"):
        rpc.connect("127.0.0.1", server.port, key="other")


def test_sessions_end_in_time(server: Server) -> None:
    remote = rpc.connect("127.0.0.1", server.port, key="board", session_timeout=0.3)
    assert remote.cpu().exist
    time.sleep(0.5)
    with pytest.raises(RPCSessionTimeoutError, match="session_timeout"):
        _ = remote.cpu().exist


def test_nobody_listens() -> None:
    with rpc.Server(silent=True) as running:
        port = running.port
    with pytest.raises(RPCError, match=f"cannot connect to 127.0.0.1:{port}"):
        rpc.connect("127.0.0.1", port)


def test_a_server_that_ends_ends_its_sessions() -> None:
    running = rpc.Server(silent=True)
    remote = rpc.connect("127.0.0.1", running.port)
    assert remote.cpu().exist
    running.terminate()
    with pytest.raises(RPCError, match="the connection is closed"):
        _ = remote.cpu().exist


@pytest.mark.parametrize(
    "said", [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\x02\0\0\0{}", b"\x0d\0\0\0" + b'[{"a":1},[9]]']
)
def test_other_protocols_are_turned_away(server: Server, said: bytes) -> None:
    """Guards the server: it outlives whatever connects to it."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as stranger:
        stranger.sendall(said)
        stranger.shutdown(socket.SHUT_WR)
        stranger.recv(1 << 16)
    assert rpc.connect("127.0.0.1", server.port, key="board").cpu().exist


def test_functions_of_libraries_that_the_server_loaded(tmp_path: Path) -> None:
    add_one().export_library(tmp_path / "lib.tar")
    with rpc.Server(load_library=str(tmp_path / "lib.tar"), silent=True) as running:
        remote = rpc.connect("127.0.0.1", running.port)
        x, y = (baton.nd.array(np.ones(16, "float32"), remote.cpu()) for _ in range(2))
        remote.get_function("add_one")(x, y)
        assert y.numpy().tolist() == [2] * 16


def test_servers_take_the_next_free_port() -> None:
    with rpc.Server(silent=True) as first, rpc.Server(port=first.port, port_end=first.port + 9, silent=True) as second:
        assert second.port > first.port
        with pytest.raises(RPCError, match="cannot listen"):
            rpc.Server(port=first.port, port_end=first.port + 1, silent=True)


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(RPCError, match="no proxies"):
        rpc.Server(is_proxy=True)
    with pytest.raises(RPCError, match="through other sessions"):
        rpc.connect("127.0.0.1", 1, session_constructor_args=["rpc.Connect"])
