"""Every name of the public face leads somewhere, and every pass of the pipelines is on it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

import baton
from baton import relax, relay
from baton._src.driver.tvm_names.absent import REASONS
from baton._src.driver.tvm_names.scripts import cprint
from baton._src.driver.tvm_names.split_modules import SERVED_BY
from baton._src.passes.pipelines import PIPELINES
from baton.script import from_source


def _modules(name: str) -> Iterator[str]:
    yield name
    module = importlib.import_module(name)
    for found in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if found.name not in ("_src", "alias"):
            yield from _modules(f"{name}.{found.name}")


MODULES = sorted(_modules("baton"))


@pytest.mark.parametrize("module", MODULES)
def test_every_listed_name_resolves(module: str) -> None:
    face = importlib.import_module(module)
    missing = [name for name in getattr(face, "__all__", []) if getattr(face, name, None) is None]
    assert not missing


@pytest.mark.parametrize("module", sorted(m for m in SERVED_BY if m.rpartition(".")[0] not in SERVED_BY))
def test_modules_that_are_not_split_off_are_served_by_what_holds_their_names(module: str) -> None:
    """As an attribute, as TVM's importers and scripts write it; none goes by the name of something else there."""
    package, _, name = module.rpartition(".")
    holder = importlib.import_module(f"baton.{package}")
    assert getattr(holder, name) is importlib.import_module(f"baton.{SERVED_BY[module]}")
    assert name not in holder.__dir__() or inspect.ismodule(getattr(holder, name))


def test_no_name_is_served_and_left_out() -> None:
    """Guards the table of what is left out, whose reason every module below such a name got."""

    def is_served(path: str) -> bool:
        holder, _, name = f"baton.{path}".rpartition(".")
        try:
            module = importlib.import_module(holder)
        except ImportError:
            return False
        return name in module.__dir__() and getattr(module, name, None) is not None

    assert [path for path in REASONS if path and is_served(path)] == []


def test_texts_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    func = from_source("@T.prim_func\ndef double(x: T.Buffer((2,))):\n    x[0] = x[0] * T.float32(2)\n")
    cprint(func, style="light")
    assert capsys.readouterr().out.strip() == func.script().strip()
    with pytest.raises(TypeError, match="not a int"):
        cprint(1)


def test_expressions_that_take_operators() -> None:
    assert isinstance(relax.PrimValue(1), relax.expr.ExprWithOp)
    assert isinstance(relay.const(1), relay.expr.ExprWithOp)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'conv9d'"):
        _ = relay.nn.conv9d


def test_pipeline_passes_are_public() -> None:
    of_passes = [PIPELINES[name] for name in PIPELINES if name != "static_shape_tuning"]  # which measures between them
    used = {type(step).__name__ for pipeline in of_passes for step in pipeline()}
    internal = {"FoldScaleIntoWeights"} & used
    assert {name for name in used - internal if not hasattr(relax.transform, name)} == set()


def test_builders_of_both_languages_are_served() -> None:
    assert relay.nn.conv2d is relay.op.nn.conv2d
    assert relax.op.nn.relu.__doc__


@pytest.mark.parametrize(
    "module",
    ["baton", "baton.runtime", "baton._src.runtime.vm.virtual_machine", "baton._src.runtime.executable.executable"],
)
def test_running_imports_no_compiler(module: str) -> None:
    """An executable runs without the compiler: nothing from `ir` up is imported by the runtime."""
    upper = ["ir", "transform", "tir", "te", "relay", "relax", "script", "ops", "analysis"]
    upper += ["passes", "lower", "codegen", "frontends", "driver", "tools"]
    code = (
        f"import sys, {module}; bad = [m for m in sys.modules if m.startswith('baton._src.') "
        f"and m.split('.')[2] in {upper!r}]; print(bad); sys.exit(bool(bad))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_importing_baton_is_quick_because_nothing_is_imported() -> None:
    code = (
        "import sys, baton; print(len([m for m in sys.modules if m.startswith(('baton._src', 'numpy', 'llvmlite'))]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) <= 4


def test_packages_list_names_of_tvm_only() -> None:
    """Guards `dir`, which listed what the tables are made with."""
    for package in (baton, baton.tir, baton.relay.nn, baton.relax.transform):
        listed = dir(package)
        assert not {"attach", "names", "renamed", "submodules", "wire", "annotations"}.intersection(listed)
        assert {*package.__all__, "__doc__"} <= set(listed)
