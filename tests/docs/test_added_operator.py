"""The operator of docs/add-an-op.md passes what its reader is told to run once it is in the catalogue."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from baton._src.ir.op_def import OpDef
from tests.docs.snippets import read_snippets
from tests.docs.test_snippets import run_page
from tests.ops.test_attributes_of_wrong_kinds import test_wrong_attributes_are_judged_in_words as wrong_attributes
from tests.ops.test_catalogue import test_declared_type_reference_and_kernel_agree as all_agree
from tests.ops.test_catalogue import test_every_facet_is_there_or_says_why as every_facet
from tests.ops.test_less_known import test_less_known_operands_give_a_supertype as less_known
from tests.ops.test_mutated_attributes import test_mutated_attributes_are_refused_or_meant as mutated_attributes
from tests.ops.test_mutated_operands import test_mutated_operands_are_refused_or_meant as mutated_operands
from tests.ops.test_native import test_native_kernels_agree_with_numpy as native

PAGE = Path(__file__).resolve().parents[2] / "docs" / "add-an-op.md"


@pytest.fixture
def operator(monkeypatch: pytest.MonkeyPatch) -> OpDef[Any]:
    module = ModuleType("hardtanh")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    run_page([next(read_snippets(PAGE))], PAGE.name, module)
    found: OpDef[Any] = module.HARDTANH
    return found


@pytest.mark.parametrize(
    "judge", [wrong_attributes, every_facet, less_known, mutated_attributes, mutated_operands, native]
)
def test_operator_of_the_page(operator: OpDef[Any], judge: Callable[[OpDef[Any]], None]) -> None:
    """Guards a page that is copied: its reference gave float32 for bfloat16, and nothing had run it but on float32."""
    judge(operator)


@pytest.mark.parametrize("symbolic", [False, True])
def test_samples_of_the_page(operator: OpDef[Any], symbolic: bool) -> None:
    assert operator.samples is not None
    for sample in operator.samples():
        all_agree(operator, sample, symbolic)
