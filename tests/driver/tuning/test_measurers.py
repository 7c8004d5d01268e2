"""Who measures: real kernels, and children that crash, hang or answer nonsense; a Dask cluster on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from baton._src.driver.tuning import child as child_module
from baton._src.driver.tuning import measurers
from baton._src.driver.tuning.measurers import DaskMeasurer, LocalMeasurer
from baton._src.driver.tuning.task import Outcome, Task, Trial
from baton._src.driver.tuning.trial import Variants
from baton._src.driver.tuning.worker import answer
from baton._src.driver.tuning_records.place import Place
from baton._src.ir.target import Target
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.kernel_digest import kernel_digest
from baton._src.tir.text.printer import script

TARGET = Target("llvm -num-cores=1")


def product() -> Task:
    a, b = placeholder((24, 16), "float32", "a"), placeholder((16, 32), "float32", "b")
    r = reduce_axis((0, 16), "r")
    func = create_prim_func([a, b, compute((24, 32), lambda i, j: reduction.sum(a[i, r] * b[r, j], r), "c")])
    digest = kernel_digest(func)
    assert digest is not None
    shapes, place = [[24, 16], [16, 32], [24, 32]], Place.of(TARGET)
    return Task("f", digest.name, script(func, "f"), shapes, [2], False, TARGET.export(), place.target, 1)


def trial(**other: int) -> Trial:
    return Trial(product(), {}, other, seconds=0.01)


@pytest.fixture(scope="module")
def child() -> Iterator[LocalMeasurer]:
    measurer = LocalMeasurer()
    yield measurer
    measurer.close()


def test_a_child_measures(child: LocalMeasurer) -> None:
    """Guards the way of a trial through a process of its own: times of both variants, agreement, what is offered."""
    first, second = child.all([trial(), trial(unroll_k=4)])
    for outcome in (first, second):
        assert outcome.is_right, outcome
        assert len(outcome.base) == len(outcome.other) >= 7
        assert outcome.rule == "matmul"
        assert outcome.offered["unroll_k"][1] == [1, 2, 4, 8]


def test_what_raises_is_an_outcome(child: LocalMeasurer) -> None:
    """Guards the search against candidates that cannot be made; the child goes on."""
    task = product()
    broken = Trial(Task(**{**vars(task), "text": "def f(:"}), {}, {})
    elsewhere = Trial(Task(**{**vars(task), "place": "another machine"}), {}, {})
    outcomes = child.all([broken, elsewhere, trial()])
    assert ["error[" in o.error for o in outcomes] == [True, True, False]
    assert "tuning-machine" in outcomes[1].error
    assert not outcomes[0].is_better
    assert outcomes[2].is_right


FIRST_BAD = """
import sys, pathlib, os, time
mark = pathlib.Path(sys.argv[1])
{before}
print('ready', flush=True)
for line in sys.stdin:
    if not mark.exists():
        mark.touch()
        {deed}
    print('{{"base": [1.0], "other": [0.5]}}', flush=True)
"""


@pytest.mark.parametrize(
    ("deed", "says"), [("os.abort()", "died"), ("time.sleep(60)", "no answer"), ("sys.exit(3)", "status 3")]
)
def test_a_child_that_crashes_or_hangs_is_replaced(deed: str, says: str, tmp_path: object) -> None:
    """Guards the search: such a candidate costs itself only, and in bounded time."""
    command = (sys.executable, "-c", FIRST_BAD.format(deed=deed, before=""), f"{tmp_path}/mark")
    measurer = LocalMeasurer(time_out=2.0, command=command)
    try:
        first, second = measurer.all([trial(), trial()])
    finally:
        measurer.close()
    assert says in first.error
    assert not first.is_right
    assert second.ratio == 0.5


def test_starting_does_not_count(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards busy machines: importing the compiler there took longer than a trial may, and every trial failed."""
    command = (sys.executable, "-c", FIRST_BAD.format(deed="pass", before="time.sleep(0.8)"), f"{tmp_path}/mark")
    measurer = LocalMeasurer(time_out=0.5, command=command)
    try:
        assert measurer.one(trial()).ratio == 0.5
        measurer.close()
        monkeypatch.setattr(child_module, "STARTING", 0.1)
        assert "did not start: no answer after" in measurer.one(trial()).error
    finally:
        measurer.close()


def test_better_is_clearly_and_mostly() -> None:
    """Guards what may be kept: not what is a little faster, or now and then, or in few rounds, or wrong."""
    assert Outcome([1.0] * 8, [0.9] * 8).is_better
    assert not Outcome([1.0] * 8, [0.98] * 8).is_better
    assert not Outcome([1.0] * 8, [0.9] * 5 + [1.1] * 3).is_better
    assert not Outcome([1.0] * 4, [0.9] * 4).is_better
    assert not Outcome([1.0] * 8, [0.9] * 8, apart=1.5).is_better
    assert not Outcome([1.0] * 8, [0.9] * 8, error="no").is_better


def test_messages_are_lines() -> None:
    """Guards the protocol: what is sent is one line and comes back as it was."""
    text = answer(trial().to_text(), Variants()).to_text()
    assert "\n" not in text
    assert "\n" not in trial().to_text()


def test_a_dask_cluster_measures() -> None:
    """Guards tuning over several machines, with two worker processes here."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        measurer = DaskMeasurer(cluster.scheduler_address)
        broken = Trial(Task(**{**vars(product()), "text": "def f(:"}), {}, {})
        outcomes = measurer.all([trial(), broken, trial(unroll_k=2)])
        measurer.close()
    assert [o.is_right for o in outcomes] == [True, False, True]


def test_no_scheduler_is_a_diagnostic() -> None:
    """Guards the message for a wrong address."""
    pytest.importorskip("distributed")
    with pytest.raises(DiagnosticError, match="tuning-dask"):
        DaskMeasurer("nonsense://nowhere:1")


def test_a_cluster_without_workers_is_a_diagnostic(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search waited for ever."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster:
        monkeypatch.setattr(measurers, "PATIENCE", 2.0)
        with pytest.raises(DiagnosticError, match="no worker has joined"):
            DaskMeasurer(cluster.scheduler_address)
