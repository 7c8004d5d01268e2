"""The mutators of TVM for CPUs: each changes one decision (or one mark) of a trace that the rules for CPUs made."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from baton._src.driver.tvm_names.tuning.meta_schedule.kernel_parts import Mutator
from baton._src.support.diagnostics import fail
from baton._src.tir.schedule.traces.instruction_kinds import KINDS
from baton._src.tir.schedule.traces.trace import Instruction, Trace

_TILE, _CHOICE, _PLACE, _MARK = (
    KINDS[primitive].name
    for primitive in ("sample_perfect_tile", "sample_categorical", "sample_compute_location", "annotate")
)
_UNROLLING = ("meta_schedule.unroll_explicit", "meta_schedule.unroll_implicit")
_PARALLEL = "meta_schedule.parallel"


class _OneStep(Mutator):
    """Changes one of the steps that it is about, any of them; there is nothing to change where there is none."""

    def __init__(self) -> None:
        self.random = random.Random(0)

    def _initialize_with_tune_context(self, context: Any) -> None:
        self.random = random.Random(context.rand_state)

    def apply(self, trace: Trace) -> Trace | None:
        found = self.steps(trace)
        return self.changed(trace, self.random.choice(found)) if found else None

    def steps(self, trace: Trace) -> Sequence[Instruction]:
        """The steps that can be changed."""
        raise NotImplementedError

    def changed(self, trace: Trace, step: Instruction) -> Trace | None:
        """The trace with another choice at `step`."""
        raise NotImplementedError


class MutateTileSize(_OneStep):
    """A prime factor of one tile's extent goes to another tile of the same loop."""

    def steps(self, trace: Trace) -> Sequence[Instruction]:
        tiles = [inst for inst in trace.insts if inst.kind.name == _TILE]
        return [inst for inst in tiles if len(_sizes(trace, inst)) > 1 and max(_sizes(trace, inst)) > 1]

    def changed(self, trace: Trace, step: Instruction) -> Trace | None:
        """See `_OneStep`; None where the innermost tile would be larger than the sampling allows."""
        sizes = _sizes(trace, step)
        giver = self.random.choice([place for place, size in enumerate(sizes) if size > 1])
        taker = self.random.choice([place for place in range(len(sizes)) if place != giver])
        prime = self.random.choice(_prime_factors(sizes[giver]))
        sizes[giver] //= prime
        sizes[taker] *= prime
        _, largest_innermost = step.attrs
        return None if sizes[-1] > largest_innermost else trace.with_decision(step, sizes)


class MutateUnroll(_OneStep):
    """Another limit of the steps that are unrolled."""

    def steps(self, trace: Trace) -> Sequence[Instruction]:
        marks = [i for i in trace.insts if i.kind.name == _MARK and i.attrs[0] in _UNROLLING]
        chosen = {id(value) for mark in marks for value in mark.inputs}
        choices = [inst for inst in trace.insts if inst.kind.name == _CHOICE and len(inst.attrs[0]) > 1]
        return [inst for inst in choices if id(inst.outputs[0]) in chosen]

    def changed(self, trace: Trace, step: Instruction) -> Trace | None:
        others = [place for place in range(len(step.attrs[0])) if place != trace.get_decision(step)]
        return trace.with_decision(step, self.random.choice(others))


class MutateComputeLocation(_OneStep):
    """Where a block is computed is drawn anew: the places that there are depend on the schedule."""

    def steps(self, trace: Trace) -> Sequence[Instruction]:
        return [inst for inst in trace.insts if inst.kind.name == _PLACE]

    def changed(self, trace: Trace, step: Instruction) -> Trace | None:
        return Trace(trace.insts, {inst: made for inst, made in trace.decisions.items() if inst is not step})


class MutateParallel(_OneStep):
    """Another number of iterations to run in parallel, up to `max_jobs_per_core` for each core."""

    def __init__(self, max_jobs_per_core: int) -> None:
        super().__init__()
        if max_jobs_per_core < 1:
            raise fail("api", f"a core has one job or more, not {max_jobs_per_core}", kind=ValueError)
        self.jobs, self.cores = max_jobs_per_core, 1

    def _initialize_with_tune_context(self, context: Any) -> None:
        super()._initialize_with_tune_context(context)
        self.cores = context.target.num_cores

    def steps(self, trace: Trace) -> Sequence[Instruction]:
        return [inst for inst in trace.insts if inst.kind.name == _MARK and inst.attrs[0] == _PARALLEL]

    def changed(self, trace: Trace, step: Instruction) -> Trace | None:
        block, jobs = step.inputs
        others = [self.cores * each for each in range(1, self.jobs + 1) if self.cores * each != jobs]
        if not others:
            return None
        marked = Instruction(step.kind, [block, self.random.choice(others)], step.attrs, step.outputs)
        return Trace([marked if inst is step else inst for inst in trace.insts], trace.decisions)


def _sizes(trace: Trace, step: Instruction) -> list[int]:
    """The tiles that a sampling chose; none if it has not."""
    return [int(size) for size in trace.get_decision(step) or ()]


def _prime_factors(number: int) -> list[int]:
    """The primes that divide a number of at least 2."""
    found = [divisor for divisor in range(2, number + 1) if number % divisor == 0]
    return [divisor for divisor in found if all(divisor % smaller for smaller in range(2, divisor))]


__all__ = ["MutateComputeLocation", "MutateParallel", "MutateTileSize", "MutateUnroll"]
