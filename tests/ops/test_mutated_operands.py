"""Every operator on operands that its samples do not have: its rule refuses them, or they mean what it declares, to
its reference and to its kernel.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.ops.catalogue import CATALOGUE
from baton._src.support.diagnostics import DiagnosticError
from tests.at_length import at_length, seeds_at_length
from tests.ops.mutations import mutated
from tests.ops.sampled_calls import SampledCall, arrays_of, assert_close

BY_CONTENT = {
    *("gather_elements", "gather_nd", "relay_gather_nd", "index_tensor", "adv_index", "index_put", "unravel_index"),
    *("scatter_elements", "scatter_nd", "relay_scatter_nd", "reverse_sequence", "invert_permutation", "take"),
    *("nn.nll_loss", "grad.nll_loss_backward", "multinomial_from_uniform", "sparse_reshape", "sparse_to_dense"),
    *("nn.sparse_dense", "nn.sparse_add", "nn.sparse_transpose", "nn.sparse_conv2d"),
    *("image.crop_and_resize", "vision.roi_align", "vision.roi_pool", "vision.non_max_suppression"),
}
"""Operators with indices, lengths or counts among their operands: references refuse those that name nothing."""
JUDGED = [d for d in CATALOGUE if d.samples and d.samples() and not isinstance(d.reference, NotApplicable)]


UNJUDGED = {"nn.attention_var_len"}
"""Operators of which contents that name nothing are not refused: there is no telling what they mean."""
MOST = 300
"""Elements of results that kernels are interpreted for."""


def _judge(definition: OpDef[Any], seed: int, count: int, kernels: int = 0) -> int:
    """How many of so many mutated calls the rule takes. The reference gives what the rule declares of each, and the
    kernels of the first ones what the reference gives."""
    assert definition.samples is not None
    rng, samples, taken = np.random.default_rng(seed), definition.samples(), 0
    for _ in range(count):
        call = SampledCall(definition, mutated(rng, samples), symbolic=False)
        try:
            declared = call.infer()
        except DiagnosticError:
            continue
        taken += 1
        try:
            found = _quietly(call.reference)
        except (IndexError, ValueError):
            assert definition.name in BY_CONTENT, call.infos
            continue
        call.check_declared(declared, found)
        has_kernel = not isinstance(definition.compute, NotApplicable) and definition.name not in UNJUDGED
        if taken <= kernels and has_kernel:
            _check_kernel(call, declared, list(found) if isinstance(found, (tuple, list)) else [found])
    return taken


def _quietly(function: Any, *args: Any) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of means of nothing
        return function(*args)


def _check_kernel(call: SampledCall, declared: Any, wanted: list[Any]) -> None:
    """Under the interpreter of TIR; what passes through 16 bits or less is compared as far as those go."""
    if sum(w.size for w in wanted) > MOST:
        return
    found = _quietly(call.run_compute, declared)
    is_narrow = any(x.dtype.itemsize <= 2 for x in (*arrays_of(call.values), *wanted))
    least = 2e-2 if is_narrow else 1e-4
    sample = replace(call.sample, rtol=max(call.sample.rtol, least), atol=max(call.sample.atol, least))
    for a, b in zip(found, wanted, strict=True):
        assert_close(a, b, sample)


@pytest.mark.parametrize("definition", JUDGED, ids=lambda d: d.name)
def test_mutated_operands_are_refused_or_meant(definition: OpDef[Any]) -> None:
    """Guards rules that take what has no meaning: kernels of such calls read beside their operands, references failed
    in NumPy's words or gave other shapes and dtypes than were declared."""
    _judge(definition, 0, 40, kernels=3)


def test_rules_are_not_merely_strict() -> None:
    """Guards the test above: a rule that refused everything would pass it."""
    assert sum(_judge(d, 0, 20) for d in JUDGED) > 5 * len(JUDGED)


FOUND = [
    *(("nn.max_pool_places", 885455616), ("nn.block_quantised_dense", 885455617)),
    *(("slice_like", 885455616), ("grad.take_backward", 885455615)),
]


@pytest.mark.parametrize(("name", "seed"), FOUND)
def test_mutated_operands_that_were_not_meant(name: str, seed: int) -> None:
    """Found by `make fuzz`: operands without elements failed in NumPy's words, two dtypes in a kernel's; a scalar came
    back as a vector.
    """
    assert _judge(next(d for d in JUDGED if d.name == name), seed, 300, kernels=30) > 0


def test_lengths_of_recurrences_are_integers() -> None:
    """Found by `make fuzz`: half a step was none to kernels and one to the reference."""
    definition = CATALOGUE.get("nn.recurrence")
    assert definition is not None
    assert definition.samples is not None
    sample = next(s for s in definition.samples() if "lengths" in s.attrs.extras)
    *tensors, others = sample.args
    halves = replace(sample, args=(*tensors, (*others[:-1], replace(others[-1], dtype="float32"))))
    with pytest.raises(DiagnosticError, match="lengths must hold integers, got float32"):
        SampledCall(definition, halves, symbolic=False).infer()


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds_at_length(3))
def test_many_mutated_operands(seed: int) -> None:
    """The same, of others in each run."""
    for definition in JUDGED:
        _judge(definition, seed, at_length(300), kernels=at_length(30))
