"""Products of rows with the matrix of their group, as routed experts of recent models have them: they were refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import baton
from tests.frontends.torch.cases.inputs import ints
from tests.frontends.torch.comparing import as_array, assert_same, check, exported_cases

ROWS, WEIGHTS = ints(8, 16, low=-4, high=4), ints(3, 16, 8, low=-4, high=4, seed=1)
"""Whole numbers, whose products and sums are exact in bfloat16's wide sums; PyTorch exports no other dtype."""


def grouped(rows: Any, weights: Any, ends: Any) -> Any:
    return torch._grouped_mm(rows.bfloat16(), weights.bfloat16(), offs=ends).float()


@pytest.mark.parametrize("ends", [[2, 5, 8], [0, 8, 8], [3, 3, 8]])
def test_rows_by_groups(ends: list[int]) -> None:
    case = (grouped, (ROWS, WEIGHTS, torch.tensor(ends, dtype=torch.int32)))
    check(*exported_cases([case]), f"{ends}")


def test_groups_are_read_at_run_time() -> None:
    exported, _, _ = exported_cases([(grouped, (ROWS, WEIGHTS, torch.tensor([2, 5, 8], dtype=torch.int32)))])
    model = baton.compile(exported)
    for ends in ([1, 1, 8], [8, 8, 8]):
        given = (ROWS, WEIGHTS, torch.tensor(ends, dtype=torch.int32))
        assert_same(model(*(as_array(g) for g in given)), [grouped(*given)], f"{ends}")


def test_batches_of_matrices() -> None:
    batches = ints(3, 4, 16, low=-4, high=4)
    plain = (lambda x, w: torch._grouped_mm(x.bfloat16(), w.bfloat16()).float(), (batches, WEIGHTS))
    check(*exported_cases([plain]), "batches")


def test_rows_behind_the_last_group_are_zeros() -> None:
    """As in the operator that transformers falls back to where PyTorch has no kernel."""
    library = torch.library.Library("transformers", "FRAGMENT")
    if not hasattr(torch.ops.transformers, "grouped_mm_fallback"):
        library.define("grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor")
        library.impl("grouped_mm_fallback", fallback, "CPU")
        torch.library.register_fake("transformers::grouped_mm_fallback", _fake, lib=library)
    given = (ROWS.float(), WEIGHTS.float(), torch.tensor([2, 3, 6], dtype=torch.int32))
    check(*exported_cases([(torch.ops.transformers.grouped_mm_fallback, given)]), "rest")


def _fake(x: Any, weight: Any, ends: Any) -> Any:
    return x.new_empty(x.shape[0], weight.shape[2])


def fallback(x: Any, weight: Any, ends: Any) -> Any:
    found, begin = torch.zeros(x.shape[0], weight.shape[2]), 0
    for matrix, end in zip(weight, ends.tolist(), strict=True):
        found[begin:end] = x[begin:end] @ matrix
        begin = end
    return found
