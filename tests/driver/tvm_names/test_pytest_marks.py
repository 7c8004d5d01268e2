"""`tvm.testing` in test files of others: what is run, skipped and expected to fail, as pytest reports it."""

from __future__ import annotations

import pytest

import baton
from baton import testing
from baton.testing import Feature

PLUGIN = 'pytest_plugins = ["baton.testing.plugin"]\n'
FILE = """
import pytest
from baton import testing

@testing.uses_gpu
def test_runs_where_a_gpu_may_be_used():
    assert [kind for kind, _ in testing.enabled_targets()] == ["llvm"]

@testing.requires_llvm
@testing.requires_package("numpy")
@testing.requires_llvm_minimum_version(5)
def test_runs(): ...

@testing.requires_gpu
def test_skipped_gpu(): raise AssertionError

@testing.requires_cuda(support_required="compile-only")
def test_skipped_cuda(): raise AssertionError

@testing.requires_hexagon
def test_skipped_absent(): raise AssertionError

@testing.requires_nvcc_version(11, 4)
def test_skipped_nvcc(): raise AssertionError

@testing.requires_package("no_such_package_xyz")
def test_skipped_package(): raise AssertionError

@testing.parametrize_targets
def test_bare(target, dev): assert (target, str(dev)) == ("llvm", "cpu(0)")

@testing.parametrize_targets("llvm", "cuda")
def test_target_alone(target): assert target == "llvm"

@testing.parametrize_targets("cuda")
def test_skipped_no_target(target): raise AssertionError

@pytest.mark.parametrize("kind", ["llvm", pytest.param("cuda", marks=testing.requires_cuda.marks())])
def test_one_of_two_kinds(kind): assert kind == "llvm"

board = testing.Feature("board", run_time_check=lambda: False, parent_features="llvm")

@board
def test_skipped_board(): raise AssertionError

@board(support_required="compile-only")
def test_compiled_for_board(request): assert {"board", "llvm"} <= {m.name for m in request.node.iter_markers()}

@testing.exclude_targets("llvm")
def test_skipped_excluded(): raise AssertionError

@testing.known_failing_targets("llvm")
def test_known_to_fail(): raise AssertionError

@pytest.mark.parametrize("n", [1, 2])
@testing.xfail_parameterizations("2", reason="even")
def test_odd(request, n): assert n == 1

@pytest.mark.parametrize("n", [1, 2])
@testing.skip_parameterizations("2", reason="even")
def test_skipped_even(request, n): assert n == 1
"""
WITH_PLUGIN = """
import pytest

def test_every_target(target, dev): assert (target, str(dev)) == ("llvm", "cpu(0)")

@pytest.mark.parametrize("target", ["llvm"])
def test_device_of_the_target(target, dev): assert str(dev) == "cpu(0)"
"""


def test_what_is_run_and_skipped(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FILE)
    found = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "ignore")
    found.assert_outcomes(passed=8, skipped=10, xfailed=2)


def test_targets_and_devices_of_the_plugin(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(PLUGIN)
    pytester.makepyfile(WITH_PLUGIN + FILE)
    found = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "ignore")
    found.assert_outcomes(passed=10, skipped=10, xfailed=2)


def test_features_of_a_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """With checks of their own, on top of others."""
    monkeypatch.setattr(Feature, "all", dict(Feature.all))
    Feature("board", "a board", run_time_check=lambda: "it is not plugged in", parent_features="llvm")
    assert Feature.all["board"].why_not() == "it is not plugged in"
    assert Feature.all["board"].why_not("compile-only") == ""
    assert [f.name for f in Feature.all["board"].with_parents()] == ["llvm", "board"]
    with pytest.raises(baton.error.TVMError, match="there is no kind of support 'some'"):
        Feature.require("board", "some")


def test_features_of_this_machine() -> None:
    has = set(baton.target.codegen.llvm_get_cpu_features(baton.target.Target("llvm")))
    assert (testing.requires_x86_avx512.why_not() == "") == ("avx512f" in has and "avx512vl" in has)
    assert (testing.requires_x86_vnni.why_not() == "") == bool({"avx512vnni", "avxvnni"} & has)
    assert testing.requires_aarch64_sve.why_not() == ("" if "sve" in has else "there is no SVE of ARM here")
    assert not testing.is_ampere_or_newer()
