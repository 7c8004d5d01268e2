"""Reproducers of failing passes are read back and run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from baton import relax, relay
from baton._src.driver.replay import read_reproducer, replay
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.ir.target import Target
from baton._src.passes import pipelines
from baton._src.passes.relax.bindings.dataflow_blocks import ConvertToDataflow
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relay.operators.fold_scale_axis import FoldScaleAxis
from baton._src.passes.relay.operators.to_mixed_precision import ToMixedPrecision
from baton._src.support.diagnostics import DiagnosticError, InternalError
from baton._src.transform.context import PassContext
from baton._src.transform.decorators import module_pass
from baton._src.transform.passes import Pass, Sequential
from tests.passes.relax.programs import program, tensor


def relax_module() -> IRModule:
    return program([tensor("x", 2, 3)], lambda _, x: relax.op.exp(relax.op.add(x, x)))


def relay_module() -> IRModule:
    x = relay.var("x", shape=(2, 3))
    return IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))


def written(at: Pass, passes: list[Any], module: IRModule, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """The reproducer that the class of `at` leaves when it fails, as one of `passes`."""
    wire()

    def fails(self: Pass, module: IRModule, ctx: PassContext) -> IRModule:
        raise KeyError("lost")

    with monkeypatch.context() as patch, PassContext(3, config={"baton.reproducer_dir": str(folder)}):
        patch.setattr(type(at), "run", fails)
        with Target("llvm -num-cores=3"), pytest.raises(InternalError, match="failed: KeyError"):
            Sequential(passes)(module)
    (path,) = folder.iterdir()
    return path


def test_what_is_written_is_what_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The module before the failing pass, the passes from there on with their options, the context, the target."""
    at = ConvertToDataflow(min_size=1)
    module = relax_module()
    path = written(at, [at, Sequential([DeadCodeElimination(["main"])], 1, "rest")], module, monkeypatch, tmp_path)
    found = read_reproducer(path)
    assert (found.failed, found.error) == ("ConvertToDataflow", "KeyError: 'lost'")
    assert found.pipeline == (
        "ConvertToDataflow(min_size=1)",
        "Sequential([DeadCodeElimination(entry_functions=['main'])], opt_level=1, name='rest', required=[])",
    )
    assert "opt_level=3" in found.context
    assert found.target == Target("llvm -num-cores=3")
    assert_structural_equal(found.module, module)


def test_passes_that_fail_no_more_transform_the_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    at = ConvertToDataflow(min_size=1)
    module = relax_module()
    path = written(at, [at, DeadCodeElimination()], module, monkeypatch, tmp_path)
    outcome = replay(path)
    assert outcome.error is None
    assert_structural_equal(outcome.module, Sequential([at, DeadCodeElimination()])(module))


def test_a_pass_that_fails_again_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whether it is the recorded fault; what it leaves this time is not kept."""
    at = ToMixedPrecision("bfloat16", 1)
    path = written(at, [at, FoldScaleAxis()], relay_module(), monkeypatch, tmp_path)

    def fails(self: Pass, module: IRModule, ctx: PassContext) -> IRModule:
        assert self == at
        assert Target.current() == Target("llvm -num-cores=3")
        raise fault

    monkeypatch.setattr(ToMixedPrecision, "run", fails)
    for fault, is_same in ((KeyError("lost"), True), (KeyError("found"), False)):
        outcome = replay(path)
        assert (outcome.failed, outcome.error, outcome.is_same) == ("ToMixedPrecision", fault, is_same)
    assert list(tmp_path.iterdir()) == [path]


def test_relay_modules_get_the_passes_of_relay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    at = ToMixedPrecision("bfloat16", 1)
    outcome = replay(written(at, [at, FoldScaleAxis()], relay_module(), monkeypatch, tmp_path))
    assert "bfloat16" in str(outcome.module)


def steps(found: Any) -> list[Pass]:
    return [s for p in found.passes for s in steps(p)] if isinstance(found, Sequential) else [found]


@pytest.mark.parametrize("name", ["zero", "default", "default_build"])
def test_pipelines_are_written_as_calls_that_make_them(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every pass of the default pipelines reads back: a fault in the first would be replayed through all of them."""
    at = ConvertToDataflow(min_size=1)
    whole = pipelines.get_pipeline(name)
    path = written(at, [at, whole], relax_module(), monkeypatch, tmp_path)
    outcome = replay(path)
    assert outcome.error is None
    assert_structural_equal(outcome.module, Sequential([at, whole])(relax_module()))


def test_passes_of_programs_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    @module_pass(opt_level=0)
    def mine(module: Any, ctx: Any) -> Any:
        return module

    at = ConvertToDataflow(min_size=1)
    path = written(at, [at, mine], relax_module(), monkeypatch, tmp_path)
    with pytest.raises(DiagnosticError, match="cannot make the pass") as caught:
        replay(path)
    assert caught.value.code == "reproducer-pass"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("NoSuchPass()", "baton has no pass NoSuchPass"),
        ("ConvertToDataflow(largest=1)", "largest"),
        ("ConvertToDataflow(min_size=print)", "the option print is not a literal"),
        ("__import__('os').getcwd()", "not a constructor call"),
        ("<function f>", "not a constructor call"),
    ],
)
def test_calls_that_make_no_pass_are_refused(
    call: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing in the file is executed."""
    at = ConvertToDataflow(min_size=1)
    path = written(at, [at], relax_module(), monkeypatch, tmp_path)
    path.write_text(path.read_text().replace("ConvertToDataflow(min_size=1)", call))
    with pytest.raises(DiagnosticError, match=message) as caught:
        replay(path)
    assert caught.value.code == "reproducer-pass"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "not one of the lines"),
        ("// pass: A\n// error: B\n\n", "no context, pipeline"),
        ("// pass: A\n// error: B\n// context: C()\n// pipeline: D()\n// target: llvm\n\n", "not JSON"),
    ],
)
def test_files_that_are_no_reproducers_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.baton"
    path.write_text(text)
    with pytest.raises(DiagnosticError, match=message) as caught:
        replay(path)
    assert caught.value.code == "reproducer-format"
