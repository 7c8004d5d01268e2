"""One test over the whole catalogue: the declared type is the actual one, and the kernel computes what NumPy does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.layouts import Anchor, FollowsInput, PerAxis
from baton._src.ops.samples import Sample
from tests.ops.sampled_calls import SampledCall, assert_close


def has_names(sample: Sample) -> bool:
    def names(arg: Any) -> bool:
        if isinstance(arg, str):
            return True
        if isinstance(arg, tuple):
            return any(names(a) for a in arg)
        return any(isinstance(d, str) for d in getattr(arg, "shape", getattr(arg, "dims", ())))

    return any(names(a) for a in sample.args)


def _calls() -> Iterator[Any]:
    """Every sample with its dims known, and those that name some with these open as well."""
    for definition in CATALOGUE:
        for number, sample in enumerate(definition.samples() if definition.samples else ()):
            yield pytest.param(definition, sample, False, id=f"static-{definition.name}-{number}")
            if has_names(sample):
                yield pytest.param(definition, sample, True, id=f"symbolic-{definition.name}-{number}")


@pytest.mark.parametrize(("definition", "sample", "symbolic"), [*_calls()])
def test_declared_type_reference_and_kernel_agree(definition: OpDef[Any], sample: Sample, symbolic: bool) -> None:
    """Guards every operator: inference against NumPy, and the te kernel (run by the TIR interpreter) against NumPy."""
    call = SampledCall(definition, sample, symbolic=symbolic)
    declared = call.infer()
    wanted = call.reference()
    call.check_declared(declared, wanted)
    if isinstance(definition.compute, NotApplicable):
        return
    results = call.run_compute(declared)
    expected = list(wanted) if isinstance(wanted, (tuple, list)) else [wanted]
    for actual, reference in zip(results, expected, strict=True):
        assert_close(actual, reference, sample)


@pytest.mark.parametrize("name", ["tile", "nn.space_to_batch_nd"])
def test_axes_without_elements(name: str) -> None:
    """Guards indices that are divided by an extent of 0."""
    definition = next(d for d in CATALOGUE if d.name == name)
    sample = next(iter(definition.samples()))
    call = SampledCall(definition, replace(sample, dims={**sample.dims, "n": 0}), symbolic=False)
    (found,) = call.run_compute(call.infer())
    assert found.shape == call.reference().shape
    assert found.size == 0


@pytest.mark.parametrize("definition", [pytest.param(d, id=d.name) for d in CATALOGUE])
def test_every_facet_is_there_or_says_why(definition: OpDef[Any]) -> None:
    """Guards completeness: forgotten and impossible differ."""
    assert definition.doc
    assert definition.samples is not None
    for facet in (definition.compute, definition.reference, definition.gradient, definition.decompose):
        assert callable(facet) or (isinstance(facet, NotApplicable) and facet.why)


def test_what_layouts_name_are_attributes() -> None:
    """Guards layout passes against operators that lack the attribute to change, as nn.pixel_shuffle its layout."""
    for definition in CATALOGUE:
        match definition.layout:
            case Anchor(data=data, kernel=kernel, out=out):
                named = {data, kernel, out}
            case FollowsInput(axis=axis):
                named = {axis}
            case PerAxis(entries=entries):
                named = {entries}
            case _:
                named = set()
        assert named - {None} <= set(definition.attrs.names), definition.name
