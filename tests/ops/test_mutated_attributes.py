"""Every operator with attributes that its samples do not have: they are refused, or mean what the rule declares."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops.call_maker import make_attrs
from baton._src.ops.catalogue import CATALOGUE
from baton._src.support.diagnostics import DiagnosticError
from tests.at_length import at_length, seeds_at_length
from tests.ops.mutations import other_attribute
from tests.ops.sampled_calls import SampledCall
from tests.ops.test_mutated_operands import BY_CONTENT

JUDGED = [
    d for d in CATALOGUE if d.attrs.names and d.samples and d.samples() and not isinstance(d.reference, NotApplicable)
]
IN_WORDS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
"""What either language says in words if a rule stumbles over attributes of another kind (see
test_attributes_of_wrong_kinds)."""


def _shapes(info: Info) -> list[Any]:
    fields = info.fields if isinstance(info, TupleInfo) else (info,)
    return [f.shape for f in fields if isinstance(f, TensorInfo) and f.shape is not None]


def _judge(definition: OpDef[Any], seed: int, count: int) -> None:
    assert definition.samples is not None
    rng, samples = np.random.default_rng(seed), definition.samples()
    for _ in range(count):
        sample = samples[int(rng.integers(len(samples)))]
        given = other_attribute(rng, sample)
        try:
            attrs = make_attrs(definition, given)
            call = SampledCall(definition, replace(sample, attrs=attrs), symbolic=False)
            declared = call.infer()
        except (DiagnosticError, *IN_WORDS):
            continue
        shapes = _shapes(declared)
        assert all(isinstance(d, int) for s in shapes for d in s), (attrs, declared)
        if any(d < 0 for s in shapes for d in s) or sum(map(math.prod, shapes)) > 10_000:
            continue  # both languages refuse negative extents
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = call.reference()
        except DiagnosticError:
            continue
        except (IndexError, ValueError):
            assert definition.name in BY_CONTENT, attrs
            continue
        call.check_declared(declared, found)


@pytest.mark.parametrize("definition", JUDGED, ids=lambda d: d.name)
def test_mutated_attributes_are_refused_or_meant(definition: OpDef[Any]) -> None:
    """Guards strides of 0, borders that are negative, boxes of other lengths, numbers that are none: rules took them,
    and references failed in NumPy's words or gave other shapes than were declared."""
    _judge(definition, 0, 30)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds_at_length(3))
def test_many_mutated_attributes(seed: int) -> None:
    """The same, of others in each run."""
    for definition in JUDGED:
        _judge(definition, seed, at_length(200))
