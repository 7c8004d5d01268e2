"""Whole models as one native entry: nothing left to the machine, nothing compiled at run time."""

from __future__ import annotations

import pytest

import baton
from bench.models.zoo import ZOO


@pytest.mark.parametrize("name", ["bert_base", "bert_base_symbolic", "decoder_step", "decoder_prefill", "mlp_symbolic"])
def test_one_native_entry(name: str) -> None:
    """Guards symbolic models, masks made of ranges included: one call from Python a run."""
    model = baton.compile(ZOO[name].small_model())
    assert model.executable.entry(model.function).kind == "native"
