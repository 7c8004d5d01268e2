"""Trackers: free servers go to those who ask, by priority; candidates are measured on servers; the command lines."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import baton
from baton import auto_scheduler, autotvm, relay, rpc, te
from baton import meta_schedule as ms
from baton._src.driver.tvm_names.remote import commands
from baton.driver import tvmc
from baton.error import RPCError
from baton.rpc import Tracker, TrackerSession

KEY = "board"


@pytest.fixture
def tracker() -> Iterator[Tracker]:
    """A tracker without servers."""
    with rpc.Tracker(port=9290, port_end=9399) as running:
        yield running


@pytest.fixture
def asking(tracker: Tracker) -> Iterator[TrackerSession]:
    """A script's connection to it."""
    session = rpc.connect_tracker("127.0.0.1", tracker.port)
    yield session
    session.close()


def served(tracker: Tracker) -> rpc.Server:
    """A server that the tracker knows."""
    return rpc.Server(key=KEY, tracker_addr=("127.0.0.1", tracker.port), silent=True)


def soon(condition: Callable[[], bool]) -> None:
    """Wait until something holds that another thread or process brings about."""
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def free(asking: TrackerSession) -> int:
    """How many servers are free."""
    return int(asking.summary()["queue_info"].get(KEY, {"free": 0})["free"])


def test_a_server_serves_one_script_at_a_time(tracker: Tracker, asking: TrackerSession) -> None:
    with served(tracker) as server:
        soon(lambda: free(asking) == 1)
        assert asking.summary()["server_info"] == [{"key": f"server:{KEY}", "addr": ["127.0.0.1", server.port]}]
        session = asking.request(KEY)
        assert session.cpu().exist
        assert free(asking) == 0
        session.close()
        soon(lambda: free(asking) == 1)
        assert re.search(rf"{KEY}\s+1\s+1\s+0", asking.text_summary())
    soon(lambda: not asking.summary()["server_info"])


def test_those_who_wait_come_by_priority(tracker: Tracker, asking: TrackerSession) -> None:
    order: list[int] = []

    def ask(priority: int) -> None:
        own = rpc.connect_tracker("127.0.0.1", tracker.port)
        session = own.request(KEY, priority=priority)
        order.append(priority)
        session.close()
        own.close()

    threads = [threading.Thread(target=ask, args=(priority,)) for priority in (1, 3, 2)]
    for thread in threads:
        thread.start()
    soon(lambda: asking.summary()["queue_info"].get(KEY, {"pending": 0})["pending"] == 3)
    with served(tracker):
        for thread in threads:
            thread.join(timeout=30)
    assert order == [3, 2, 1]


def test_a_session_that_breaks_is_tried_again(tracker: Tracker, asking: TrackerSession) -> None:
    tries: list[int] = []

    def run(session: rpc.RPCSession) -> str:
        tries.append(1)
        if len(tries) == 1:
            session.close()
        return str(session.cpu().exist)

    with served(tracker):
        assert asking.request_and_run(KEY, run) == "True"
    assert len(tries) == 2


def test_servers_that_are_asked_for_by_environment(tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_TRACKER_HOST", "127.0.0.1")
    monkeypatch.setenv("TVM_TRACKER_PORT", str(tracker.port))
    assert not auto_scheduler.utils.check_remote(KEY, timeout=0.2)
    with served(tracker):
        assert auto_scheduler.utils.check_remote(KEY, timeout=20)
        assert autotvm.measure.request_remote(KEY).cpu().exist


def test_nobody_tracks() -> None:
    with rpc.Tracker(port=9290, port_end=9399) as gone:
        port = gone.port
    with pytest.raises(RPCError, match="cannot connect"):
        rpc.connect_tracker("127.0.0.1", port)
    with pytest.raises(RPCError, match="cannot connect"):
        rpc.Server(key=KEY, tracker_addr=("127.0.0.1", port), silent=True)


@autotvm.template("remote/product")
def product(rows: int, columns: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """A product whose columns are split."""
    a, b = te.placeholder((rows, 8), name="a"), te.placeholder((8, columns), name="b")
    k = te.reduce_axis((0, 8), "k")
    c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    schedule, config = te.create_schedule(c.op), autotvm.get_config()
    config.define_split("tile", schedule[c].op.axis[1], num_outputs=2)
    config["tile"].apply(schedule, c, schedule[c].op.axis[1])
    return schedule, [a, b, c]


def test_configurations_are_measured_there(tracker: Tracker, tmp_path: Path) -> None:
    """Guards `autotvm.RPCRunner`: the server's process compiles, checks and times."""
    runner = autotvm.RPCRunner(KEY, "127.0.0.1", tracker.port, timeout=300, number=1, repeat=2)
    option = autotvm.measure_option(builder=autotvm.LocalBuilder(timeout=300), runner=runner)
    log = tmp_path / "log.json"
    with served(tracker):
        tuner = autotvm.tuner.GridSearchTuner(autotvm.task.create("remote/product", (8, 6), "llvm"))
        tuner.tune(3, option, callbacks=[autotvm.callback.log_to_file(str(log))])
    results = [result for _, result in autotvm.record.load_from_file(log)]
    assert len(results) == 3
    assert all(result.error_no == 0 and len(result.costs) == 2 for result in results)


def test_schedules_are_measured_there(tracker: Tracker, tmp_path: Path) -> None:
    """Guards `meta_schedule`'s RPCRunner: with baton's builder, and with libraries that a builder wrote."""
    a, b = te.placeholder((16, 16), name="a"), te.placeholder((16, 16), name="b")
    kernel = te.create_prim_func([a, b, te.compute((16, 16), lambda i, j: a[i, j] + b[i, j], name="c")])
    config = ms.runner.RPCConfig("127.0.0.1", tracker.port, KEY, session_timeout_sec=300)
    runner = ms.runner.RPCRunner(config, ms.runner.EvaluatorConfig(number=1, repeat=1, min_repeat_ms=0))
    library = baton.build(kernel, target="llvm")
    library.export_library(tmp_path / "lib.tar")
    tensors = [ms.arg_info.TensorInfo("float32", (16, 16)) for _ in range(3)]
    with served(tracker):
        (future,) = runner.run([ms.runner.RunnerInput(str(tmp_path / "lib.tar"), "llvm", tensors)])
        assert future.result().error_msg is None
        assert future.result().run_secs[0] > 0
        database = ms.tune_tir(kernel, "llvm -num-cores=1", str(tmp_path), 2, runner=runner)
        assert config.count_num_servers() == 1
    assert len(database) > 0


def test_a_server_that_went_away_is_an_error_of_the_candidate(tracker: Tracker, tmp_path: Path) -> None:
    config = ms.runner.RPCConfig("127.0.0.1", tracker.port, KEY, session_timeout_sec=20)
    runner = ms.runner.RPCRunner(config)
    tracker.terminate()
    (tmp_path / "lib.tar").write_bytes(b"")
    (future,) = runner.run([ms.runner.RunnerInput(str(tmp_path / "lib.tar"), "llvm", [])])
    assert "cannot connect" in future.result().error_msg


@auto_scheduler.register_workload
def sums(n: int, k: int) -> list[te.Tensor]:
    """The product of two matrices."""
    a, b, r = te.placeholder((n, k), name="a"), te.placeholder((k, n), name="b"), te.reduce_axis((0, k), "k")
    return [a, b, te.compute((n, n), lambda i, j: te.sum(a[i, r] * b[r, j], r), "product")]


def test_computations_are_tuned_there(tracker: Tracker) -> None:
    """Guards `auto_scheduler.RPCRunner`."""
    task = auto_scheduler.SearchTask(func=sums, args=(16, 12), target="llvm -num-cores=1")
    seen: list[object] = []
    runner = auto_scheduler.RPCRunner(KEY, "127.0.0.1", tracker.port, timeout=300, number=1, min_repeat_ms=0)
    option = auto_scheduler.TuningOptions(
        2, builder=auto_scheduler.LocalBuilder(timeout=300), runner=runner,
        measure_callbacks=[lambda inputs, results: seen.extend(results)],
    )  # fmt: skip
    with served(tracker):
        task.tune(option)
    assert seen
    assert all(result.error_no == 0 for result in seen)  # type: ignore[attr-defined]


def test_packages_of_tvmc_run_there(tracker: Tracker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Guards `tvmc.run` with `hostname` and `rpc_key`: the outputs, times and profiles of a run elsewhere."""
    x = relay.var("x", shape=(2, 3))
    module = baton.IRModule.from_expr(relay.Function([x], relay.Tuple([x + x, relay.exp(x)])))
    tvmc.compile(tvmc.model.TVMCModel(module, {}), "llvm", package_path=str(tmp_path / "sum.tar"))
    package = tvmc.TVMCPackage(tmp_path / "sum.tar")
    here = tvmc.run(package, fill_mode="ones")
    with served(tracker) as server:
        for place in ({"port": tracker.port, "rpc_key": KEY}, {"port": server.port, "rpc_key": None}):
            if place["rpc_key"] is None:
                server.key = ""
            there = tvmc.run(
                package,
                hostname="127.0.0.1",
                fill_mode="ones",
                benchmark=True,
                repeat=2,
                number=1,
                profile=True,
                **place,
            )
            assert there.outputs.keys() == here.outputs.keys() == {"output_0", "output_1"}
            for name, value in here.outputs.items():
                np.testing.assert_array_equal(there.outputs[name], value)
            assert len(there.times.results) == 2
            assert "exp" in capsys.readouterr().out


def said(process: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    """The next line that a process writes, which has the pattern."""
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(pattern, line)
    assert found, line
    return found


def test_the_command_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Guards `python -m tvm.exec.rpc_tracker`, `rpc_server` and `query_rpc_tracker`, as processes of their own."""

    def begun(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "baton.alias", "-m", *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    processes = [begun("tvm.exec.rpc_tracker", "--port", "9290", "--port-end", "9399")]
    try:
        port = said(processes[0], r"tracker: listening at 127.0.0.1:(\d+)")[1]
        processes.append(
            begun(
                "tvm.exec.rpc_server",
                "--port",
                "9400",
                "--port-end",
                "9499",
                "--key",
                KEY,
                "--tracker",
                f"127.0.0.1:{port}",
            )
        )
        said(processes[1], r"server: listening at 127.0.0.1:(\d+)")
        asking = rpc.connect_tracker("127.0.0.1", int(port))
        remote = asking.request(KEY)
        x = baton.nd.array(np.arange(3), remote.cpu())
        assert x.numpy().tolist() == [0, 1, 2]
        commands.query(["--port", port])
        assert re.search(rf"server:{KEY}", capsys.readouterr().out)
    finally:
        for process in processes:
            process.terminate()
            process.wait(timeout=20)
    with pytest.raises(SystemExit):
        commands.query(["--port", port])
    assert "cannot connect" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        commands.serve(["--tracker", "nowhere"])
    assert "'nowhere' is not HOST:PORT" in capsys.readouterr().err
