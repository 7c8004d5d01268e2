"""PassContext and Sequential: who runs when, in what order, with which settings."""

from __future__ import annotations

import gc
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import DiagnosticError, InternalError
from baton._src.transform.context import PassContext, PassInfo
from baton._src.transform.decorators import module_pass
from baton._src.transform.passes import FunctionPass, Pass, Sequential

RAN: list[str] = []


@dataclass(frozen=True)
class Base(Pass):
    """Notes its name."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        RAN.append(self.name)
        return module


@dataclass(frozen=True)
class Level1(Base):
    opt_level = 1


@dataclass(frozen=True)
class Level3(Base):
    opt_level = 3
    required = (Level1(),)


@pytest.fixture(autouse=True)
def _forget() -> None:
    RAN.clear()


def run(**options: Any) -> list[str]:
    """What a sequence of a level-0 and a level-3 pass runs under these options."""
    with PassContext(**options):
        Sequential([Base(), Level3()])(IRModule())
    return RAN


@pytest.mark.rule("RELAY-PASS-01")
def test_contexts_nest_and_are_restored() -> None:
    before = PassContext.current().opt_level
    with PassContext(opt_level=3), PassContext(opt_level=1):
        assert PassContext.current().opt_level == 1
    assert PassContext.current().opt_level == before == 2


@pytest.mark.rule("RELAY-PASS-01", rejects=True)
@pytest.mark.rule("RELAX-PASS-30", rejects=True)
def test_unknown_settings_are_refused() -> None:
    with pytest.raises(DiagnosticError, match=r"relax\.FuseOps\.max_depth"):
        PassContext(config={"relax.FuseOps.maxdepth": 3})
    with pytest.raises(DiagnosticError, match="takes int"):
        PassContext(config={"relax.FuseOps.max_depth": "3"})


def test_names_of_passes_that_are_none() -> None:
    """Guards a slip in a name, which disabled nothing and said nothing; a script's own passes have any name."""
    wire()
    with pytest.warns(UserWarning, match="disabled_pass names 'FoldConstnat', but .*did you mean 'FoldConstant'"):
        run(disabled_pass=["FoldConstnat", "Level3", "FuseOps", "tir.Simplify"])
    warned = pytest.warns(UserWarning, match="required_pass names 'tir.Simplfy', but .* 'tir.Simplify'")
    with warned as caught, PassContext(), PassContext(required_pass=["tir.Simplfy"]):
        PassContext(required_pass=["tir.Simplfy"]).__enter__().__exit__(None, None, None)
    assert len(caught) == 1
    with pytest.raises(DiagnosticError, match="takes names of passes, got a Level3") as error:
        PassContext(disabled_pass=[Level3()])
    assert "write 'Level3'" in str(error.value)


def test_settings_have_defaults() -> None:
    assert PassContext().setting("relax.FuseOps.max_depth") == 256
    assert PassContext(config={"relax.FuseOps.max_depth": 2}).setting("relax.FuseOps.max_depth") == 2
    assert PassContext.list_configs()["relax.FuseOps.max_depth"]["type"] == "int"


@pytest.mark.rule("RELAY-PASS-02")
def test_info_has_name_level_and_requirements() -> None:
    assert Level3().info == PassInfo(3, "Level3", ("Level1",))


@pytest.mark.rule("RELAY-PASS-03")
@pytest.mark.parametrize(
    ("options", "ran"),
    [
        ({"opt_level": 2}, ["Base"]),
        ({"opt_level": 3}, ["Base", "Level1", "Level3"]),
        ({"opt_level": 0, "required_pass": ["Level3"]}, ["Base", "Level1", "Level3"]),
        ({"opt_level": 3, "required_pass": ["Level3"], "disabled_pass": ["Level3", "Base"]}, []),
    ],
)
def test_disabled_wins_then_required_then_level(options: dict[str, Any], ran: list[str]) -> None:
    """Requirements run unconditionally, before the pass that has them."""
    assert run(**options) == ran


@pytest.mark.rule("RELAY-PASS-04")
def test_a_pass_called_directly_runs_at_any_level() -> None:
    with PassContext(opt_level=0):
        Level3()(IRModule())
    assert RAN == ["Level3"]


def test_requirements_by_name_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    @module_pass(opt_level=0, required=["Level1"])
    def user(module: IRModule, ctx: PassContext) -> IRModule:
        return module

    monkeypatch.setattr(Pass, "find", staticmethod({"Level1": Level1()}.__getitem__))
    Sequential([user])(IRModule())
    assert RAN == ["Level1"]


def test_threads_have_contexts_of_their_own() -> None:
    seen: list[int] = []
    with PassContext(opt_level=4):
        thread = threading.Thread(target=lambda: seen.append(PassContext.current().opt_level))
        thread.start()
        thread.join()
    assert seen == [2]


def test_the_collector_is_held_back_while_a_pass_runs() -> None:
    seen: list[tuple[int, int, int]] = []

    @module_pass(opt_level=0)
    def look(module: IRModule, ctx: PassContext) -> IRModule:
        seen.append(gc.get_threshold())
        return module

    before = gc.get_threshold()
    Sequential([look])(IRModule())
    assert seen[0][0] > before[0]
    assert gc.get_threshold() == before


def test_a_pass_takes_modules_only() -> None:
    with pytest.raises(DiagnosticError, match="transforms an IRModule, got int"):
        Base()(3)
    with pytest.raises(DiagnosticError, match="a Sequential holds passes"):
        Sequential([3])


@dataclass(frozen=True)
class Broken(Pass):
    """Breaks an invariant."""

    limit: int = 7

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        raise KeyError("lost")


def test_a_broken_pass_is_named_and_leaves_a_reproducer(tmp_path: Any) -> None:
    """The file has the module and what was still to run, each pass with its options."""
    with PassContext(config={"baton.reproducer_dir": str(tmp_path)}), pytest.raises(InternalError) as caught:
        Sequential([Base(), Sequential([Broken(limit=9), Level1()]), Base()])(IRModule(attrs={"mark": 17}))
    assert "the pass Broken failed: KeyError: 'lost'" in str(caught.value)
    (path,) = tmp_path.iterdir()
    assert str(path) in str(caught.value)
    text = path.read_text()
    assert "// pipeline: Broken(limit=9)\n// pipeline: Level1()\n// pipeline: Base()\n" in text
    assert "17" in text


def test_reporting_never_hides_the_error() -> None:
    with PassContext(config={"baton.reproducer_dir": "/dev/null/x"}), pytest.raises(InternalError) as caught:
        Broken()(IRModule())
    assert "no reproducer could be written" in str(caught.value)


def test_a_context_says_what_it_holds() -> None:
    text = str(PassContext(opt_level=3, disabled_pass=["FuseOps"], config={"relay.FuseOps.max_depth": 5}))
    assert "opt_level: 3" in text
    assert "disabled passes: ['FuseOps']" in text
    assert "'relay.FuseOps.max_depth': 5" in text


def test_what_passes_print() -> None:
    """TVM's words; `repr` tells the options."""
    step = Base()
    assert str(step) == "Run Module pass: Base at the optimization level 0"
    assert repr(step) == "Base()"
    both = "The passes will be executed are: [Base Base ]"
    assert str(Sequential([step, step], 3)) == f"Run Sequential pass: sequential at the optimization level 3. {both}"
    told = str(PassInfo(2, "Step", ("First", "Second")))
    assert told == "The meta data of the pass - pass name: Step, opt_level: 2, required passes: [First, Second]"


def test_a_class_of_passes_is_no_pass() -> None:
    """Guards the base classes, which failed as if the compiler were broken."""
    for made in (Pass(), FunctionPass()):
        with pytest.raises(DiagnosticError, match="is no pass by itself"):
            made(IRModule())
