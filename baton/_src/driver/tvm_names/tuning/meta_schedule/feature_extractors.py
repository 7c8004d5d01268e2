"""Features of candidates for cost models: numbers by name.

baton's own are the decisions of a candidate's trace, which is all that tells candidates of a kernel apart. A script's
own extractor gives a row of numbers for each of a candidate's statements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from baton._src.driver.tvm_names.tuning.meta_schedule.kinds import created
from baton._src.driver.tvm_names.tuning.meta_schedule.records import MeasureCandidate
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import NDArray

Features = dict[str, float]


class FeatureExtractor:
    """Gives the features of candidates; scripts derive from it."""

    def extract_from(self, context: Any, candidates: Sequence[MeasureCandidate]) -> Sequence[NDArray]:
        """For each candidate an array (statements, features)."""
        raise NotImplementedError

    @staticmethod
    def create(kind: Any, *args: Any, **kwargs: Any) -> FeatureExtractor:
        """The extractor itself. Error `api`: a name, for none of TVM's is there."""
        help = "derive from PyFeatureExtractor; models of costs see the decisions of traces without one"
        if isinstance(kind, str):
            raise fail("api", f"there is no feature extractor {kind!r}", help=help, kind=ValueError)
        return created(FeatureExtractor, "feature extractor", {}, kind, *args, **kwargs)


def features_of(
    extractor: FeatureExtractor | None, context: Any, candidates: Sequence[MeasureCandidate]
) -> list[Features]:
    """The features of each candidate: by an extractor, summed over the statements; else its decisions."""
    if extractor is None:
        return [decisions_of(candidate) for candidate in candidates]
    found = extractor.extract_from(context, candidates)
    if len(found) != len(candidates):
        message = f"the extractor gave {len(found)} arrays for {len(candidates)} candidates"
        raise fail("api", message, kind=ValueError)
    rows = [np.atleast_2d(_array(one)).sum(axis=0) for one in found]
    return [{str(place): float(value) for place, value in enumerate(row)} for row in rows]


def _array(given: Any) -> Any:
    return given.numpy() if isinstance(given, NDArray) else np.asarray(given)


def decisions_of(candidate: MeasureCandidate) -> Features:
    """The decisions of a candidate's trace: sizes as logarithms, named by the step and their place in it."""
    steps, decisions = candidate.sch.trace.as_json(remove_postproc=True)
    found: Features = {}
    for number, decision in decisions:
        for place, value in _numbers(decision):
            found[f"{number} {steps[number][0]} {place}"] = math.copysign(math.log2(1 + abs(value)), value)
    return found


def _numbers(decision: Any, place: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(decision, (int, float)):
        yield place, float(decision)
    elif isinstance(decision, (list, tuple)):
        for index, item in enumerate(decision):
            yield from _numbers(item, f"{place}.{index}")
    elif isinstance(decision, dict):
        for name, item in decision.items():
            yield from _numbers(item, f"{place}.{name}")
