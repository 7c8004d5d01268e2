"""Tuning a whole model: what is remembered, what compilation makes of it, and what is never kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper
from typer.testing import CliRunner

import baton
from baton import relay
from baton._src.codegen.llvm.cache import CacheOptions
from baton._src.codegen.llvm.jit import Machine
from baton._src.codegen.llvm.module import _Jobs
from baton._src.driver.compile import program_cache
from baton._src.driver.compile.program_cache import program_key
from baton._src.driver.kernel_scheduler import scheduler
from baton._src.driver.tuning import tune as tune_module
from baton._src.driver.tuning.measurers import LocalMeasurer
from baton._src.driver.tuning.search import Budget, Found, neighbours, search
from baton._src.driver.tuning.task import Outcome, Task, Trial
from baton._src.driver.tuning.trial import difference
from baton._src.driver.tuning.tune import WHOLE_ALLOWED
from baton._src.driver.tuning_records.database import Database, Entry
from baton._src.driver.tuning_records.place import Place
from baton._src.driver.tuning_records.records import tunings
from baton._src.driver.tuning_records.version import tuning_version
from baton._src.ir.target import Target
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.kernel_digest import kernel_digest
from baton._src.tir.prim_func import PrimFunc
from baton._src.tools.feeds import made_up
from baton._src.tools.main import app
from baton._src.transform.context import PassContext

ROOT = Path(__file__).parents[3]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
HOST = Target("llvm")
TASK = Task("f", "key", "", [], [], False, {}, "here", 1)


class Fake:
    """Measures by a formula: `cost(record)` seconds a call; records what was asked."""

    def __init__(self, cost: Callable[[dict[str, int]], float], wrong: int = -1) -> None:
        self.cost, self.wrong = cost, wrong
        self.asked: list[Trial] = []

    def all(self, trials: Sequence[Trial]) -> list[Outcome]:
        self.asked += trials
        return [self._one(t) for t in trials]

    def _one(self, trial: Trial) -> Outcome:
        if trial.other.get("rows") == 7:
            return Outcome(error="no answer after 30 s")
        offered = {"rows": (4, [4, 1, 2, 6, 7, 8]), "unroll": (1, [1, 2])}
        if trial.other.get("unroll") == 2:
            offered["more"] = (0, [0, 1])
        base, other = self.cost(trial.base), self.cost(trial.other)
        apart = 9.0 if trial.other.get("rows") == self.wrong else 0.0
        return Outcome([base] * 8, [other] * 8, apart, offered, "rule")

    def close(self) -> None:
        pass


def found_by(fake: Fake, trials: int = 1000, start: dict[str, int] | None = None) -> Any:
    return search(TASK, fake, Budget(trials, 1e18), start)


def test_the_search_finds_what_is_better() -> None:
    """Guards the search: choices in combination, those that come up on the way, failures in between."""
    steps = {"rows": {8: 0.6, 6: 0.8}, "unroll": {2: 0.9}, "more": {1: 0.5}}

    def cost(record: dict[str, int]) -> float:
        return float(np.prod([steps.get(n, {}).get(v, 1.0) for n, v in record.items()]))

    found = found_by(Fake(cost))
    assert found.record == {"rows": 8, "unroll": 2, "more": 1}
    assert found.after == pytest.approx(0.27)
    assert set(found.failures) == {"no answer after 30 s"}


def test_the_search_keeps_nothing_that_is_wrong_or_no_better() -> None:
    """Guards results and the rules' choices: neither wrong ones nor noise are kept, nor what once was better."""
    wrong = found_by(Fake(lambda r: 0.5 if r.get("rows") == 8 else 1.0, wrong=8))
    assert wrong.record == {}
    assert found_by(Fake(lambda r: 0.99 if r else 1.0)).record == {}
    stale = found_by(Fake(lambda r: 1.0), start={"rows": 8})
    assert stale.record == {}
    assert stale.note == "not measurably better"


def test_what_was_known_can_be_given_up() -> None:
    """Guards records of earlier days: slower than the rule's choices, they stayed; failing, they ended the search."""
    slower = found_by(Fake(lambda r: 1.0 if r.get("rows", 4) == 4 else 2.0), start={"rows": 8})
    assert (slower.record, slower.note) == ({}, "not measurably better")
    failing = found_by(Fake(lambda r: 0.5 if r.get("rows") == 8 else 1.0), start={"rows": 7})
    assert failing.record == {"rows": 8}
    wrong = found_by(Fake(lambda r: 1.0, wrong=8), start={"rows": 8, "unroll": 2})
    assert wrong.record == {}


@pytest.mark.parametrize(("note", "stays"), [("results differ", False), ("no answer after 30 s", True)])
def test_a_wrong_record_is_forgotten(tmp_path: Path, note: str, stays: bool) -> None:
    """Guards the database: choices whose results were found to differ were remembered on."""
    place, database = Place("here", 1), Database(tmp_path / "tuning.sqlite")
    database.put(place, TASK.key, Entry({"rows": 8}))
    job = tune_module._Job(database, place, Fake(lambda r: 1.0), Budget(1, 1e18), tune_module.Report(database.path))
    job._remember(Found(TASK, note=note))
    assert (TASK.key in database.entries(place)) is stays


def test_the_search_keeps_to_its_budget() -> None:
    """Guards the options --trials and --seconds."""
    fake = Fake(lambda r: 1.0)
    found_by(fake, trials=3)
    assert len(fake.asked) <= 3
    found = search(TASK, fake, Budget(1000, 0.0))
    assert found.trials == 1


def test_candidates_are_those_nearby() -> None:
    """Guards "around the rules' choice"."""
    assert neighbours(list(range(1, 30)), 5) == [1, 2, 3, 4, 6, 7, 8, 9]


# ------------------------------------------------------------------------------------------------ compilation


def product(size: int = 24) -> PrimFunc:
    a, b = placeholder((size, 16), "float32", "a"), placeholder((16, 32), "float32", "b")
    r = reduce_axis((0, 16), "r")
    return create_prim_func([a, b, compute((size, 32), lambda i, j: reduction.sum(a[i, r] * b[r, j], r), "c")])


def key_of(func: PrimFunc, target: Target = HOST) -> str:
    """The key of the kernel's object in the cache."""
    return _Jobs({"f": func}, target, Machine.of(target, 3), False, scheduler(target), ()).keys["f"]


def remembered(path: Path, func: PrimFunc, record: dict[str, int], place: Place | None = None) -> None:
    digest = kernel_digest(func)
    assert digest is not None
    Database(path).put(place or Place.of(HOST), digest.name, Entry(record))


def test_records_are_consulted_and_part_of_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards compilation: a record changes its own kernel's schedule and keys, for its own place, unless turned off."""
    path = tmp_path / "tuning.sqlite"
    monkeypatch.setenv("BATON_TUNING", str(path))
    monkeypatch.setenv("BATON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(program_cache, "FILLED", set())  # other tests register rules, and programs have no keys then
    other = Target("llvm -mcpu=haswell")
    plain, another, elsewhere = key_of(product()), key_of(product(25)), key_of(product(), other)
    program = program_key(DIGITS, HOST, tuning_version(HOST), options=CacheOptions(tmp_path))
    remembered(path, product(), {"unroll_k": 4})
    assert scheduler(HOST).run(product())[1] == "matmul"  # whose choices were not asked for
    rules = scheduler(HOST)
    func = product()
    assert "unroll_k" in rules.choices("f", func)
    assert rules.run(func)[1] == "matmul, tuned"
    assert key_of(product()) != plain
    assert key_of(product(25)) == another
    assert key_of(product(), other) == elsewhere
    assert program != program_key(DIGITS, HOST, tuning_version(HOST), options=CacheOptions(tmp_path))
    assert not tunings(HOST, HOST.num_cores + 1).records
    with PassContext(config={"baton.tuning": False}):
        assert scheduler(HOST).choices("f", product()) == ""
    monkeypatch.setenv("BATON_TUNING", "0")
    assert key_of(product()) == plain


def test_a_tuned_model_computes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the whole way: tune, remember, compile again from an ONNX file; with a measurer that likes `unroll_k`."""
    path = tmp_path / "tuning.sqlite"
    monkeypatch.setenv("BATON_CACHE_DIR", str(tmp_path))

    def liked(self: LocalMeasurer, trial: Trial) -> Outcome:
        offered = {"unroll_k": (1, [1, 2]), "conv_points": (8, [8, 5]), "winograd": (0, [0, 2])}
        base, other = ([0.5 ** sum(v != offered[n][0] for n, v in r.items())] * 8 for r in (trial.base, trial.other))
        return Outcome(base, other, 0.0, offered, "rule")

    monkeypatch.setattr(LocalMeasurer, "one", liked)
    monkeypatch.setattr(tune_module, "SLOWER", 100.0)
    monkeypatch.setattr(tune_module, "WHOLE_SECONDS", 0.01)
    plain = baton.compile(DIGITS)
    feed = made_up(plain.inputs, {"n": 2})
    expected = plain.run(feed)
    report = baton.tune(DIGITS, feed, seconds=20, database=path)
    assert report.kept
    assert "whole model" in str(report)
    monkeypatch.setenv("BATON_TUNING", str(path))
    tuned = baton.compile(DIGITS)
    np.testing.assert_allclose(tuned.run(feed)[0], expected[0], rtol=1e-4, atol=1e-5)
    again = baton.compile(DIGITS, keep_stages=True)
    assert any("tuned" in k.summary for k in again.kernels)


def test_a_slower_model_takes_everything_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards whole models: what is faster by itself and slower together is not remembered."""
    path = tmp_path / "tuning.sqlite"
    monkeypatch.setenv("BATON_CACHE_DIR", str(tmp_path))
    offered = {"unroll_k": (1, [1, 2])}

    def liked(self: LocalMeasurer, trial: Trial) -> Outcome:
        base, other = ([1.0 / r.get("unroll_k", 1)] * 8 for r in (trial.base, trial.other))
        return Outcome(base, other, 0.0, offered, "rule")

    monkeypatch.setattr(LocalMeasurer, "one", liked)
    monkeypatch.setattr(tune_module, "_in_turns", lambda models, arrays: ([1.0] * 9, [1.2] * 9))
    feed = made_up(baton.compile(DIGITS).inputs, {})
    report = baton.tune(DIGITS, feed, seconds=20, database=path)
    assert "1.20 times" in report.undone
    assert not report.kept
    assert Database(path).entries(Place.of(HOST)) == {}


def test_the_command_tunes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards `baton tune` with real measurements, a few of them."""
    monkeypatch.setenv("BATON_CACHE_DIR", str(tmp_path))
    path = tmp_path / "mine.sqlite"
    options = ["--seconds", "2", "--trials", "4", "--threads", "1", "--database", str(path)]
    result = CliRunner().invoke(app, ["tune", str(DIGITS), *options])
    assert result.exit_code == 0, result.output
    assert "whole model" in result.output.replace("\n", " ") or "whole" in result.output
    assert "kernels remembered in" in result.output or "nothing was kept" in result.output


def test_tuning_has_to_be_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the message where there is nowhere to remember."""
    monkeypatch.setenv("BATON_TUNING", "0")
    result = CliRunner().invoke(app, ["tune", str(DIGITS)])
    assert result.exit_code == 1
    assert "tuning-off" in result.stderr


def test_models_of_scalars_strings_and_dictionaries_are_tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards inputs and outputs as users see them: a tensor without axes became one with an axis."""
    monkeypatch.setenv("BATON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tune_module, "WHOLE_SECONDS", 0.01)
    options: dict[str, Any] = {"trials": 0, "database": tmp_path / "mine.sqlite"}
    x = relay.var("x", shape=(), dtype="float32")
    assert baton.tune(relay.Function([x], relay.exp(x)), {"x": np.float32(1)}, **options).after > 0
    classes = {"classlabels_strings": ["cat", "dog"]}
    scorer: dict[str, Any] = {"coefficients": [1.0, -1.0], "intercepts": [0.0, 0.5], **classes}
    learned = {"domain": "ai.onnx.ml"}
    nodes = [
        helper.make_node("LabelEncoder", ["x"], ["code"], keys_strings=["a"], values_floats=[2.0], **learned),
        helper.make_node("LinearClassifier", ["code"], ["label", "scores"], **scorer, **learned),
        helper.make_node("ZipMap", ["scores"], ["by_class"], **classes, **learned),
    ]
    outputs = [helper.make_empty_tensor_value_info(n) for n in ("label", "by_class")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 8, ["n", 1])], outputs)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    assert baton.tune(model, {"x": [["a"], ["b"]]}, **options).after > 0


def test_results_of_half_precision_may_differ_by_rounding() -> None:
    """Guards whole models in bfloat16, whose results had to be the same bit for bit."""
    one = np.array([1.0, 2.0], ml_dtypes.bfloat16)
    near, far = (np.array([1.0, 2.0 + d], ml_dtypes.bfloat16) for d in (2**-6, 1.0))
    assert difference(one, near, WHOLE_ALLOWED) < 1 < difference(one, far, WHOLE_ALLOWED)
    assert difference(np.array([np.inf, 1.0]), np.array([np.inf, 2.0]), WHOLE_ALLOWED) > 1
