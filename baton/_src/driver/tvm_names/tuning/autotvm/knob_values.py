"""The values that a knob can take, by the policy of its definition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from baton._src.driver.tvm_names.tuning.autotvm.entities import (
    AnnotateEntity,
    Entity,
    ReorderEntity,
    SplitEntity,
)
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir.expr import IntImm


class VirtualAxis:
    """An axis as definitions of knobs know it: of an axis of a stage, of so many iterations, or a part of a split one.

    Every part is an axis of its own, by which orders tell them apart; how long it is depends on the configuration.
    """

    def __init__(self, var: Any = None, name: str = "") -> None:
        self.name = name or getattr(getattr(var, "var", None), "name", "axis")
        self.extent = extent_of(var)

    @property
    def length(self) -> int:
        """The number of iterations; -1 if unknown."""
        return -1 if self.extent is None else self.extent

    def __repr__(self) -> str:
        return f"vaxis({self.name})"


def extent_of(var: Any) -> int | None:
    """The number of iterations of an axis; None if unknown."""
    if isinstance(var, VirtualAxis):
        return var.extent
    extent = getattr(getattr(var, "dom", None), "extent", var)
    return int(extent) if isinstance(extent, (int, IntImm)) else None


class KnobValues(list[Entity]):
    """The values of one knob, in order; `what` says in TVM's words how they were defined."""

    def __init__(self, values: Iterable[Entity], what: str = "") -> None:
        super().__init__(values)
        self.what = what

    def __repr__(self) -> str:
        return f"{self.what or f'OtherOption({list(self)})'} len={len(self)}"

    @property
    def entities(self) -> list[Entity]:
        """The same under TVM's name."""
        return self


def parts_of(name: str, count: int) -> list[VirtualAxis]:
    """The axes that one is split into."""
    return [VirtualAxis(name=f"{name}.{place}") for place in range(count)]


def split_values(
    name: str,
    axis: Any,
    policy: str,
    num_outputs: int,
    max_factor: int | None,
    candidate: Sequence[Sequence[int]] | None,
    no_tail: bool,
) -> list[SplitEntity]:
    """The ways to split an axis (or a loop with that many iterations) into `num_outputs`, in TVM's order: the outer
    parts change first.

    Error `autotvm-knob`: its extent is unknown, or there is no such policy.
    """
    if policy == "candidate":
        return [SplitEntity(size) for size in candidate or ()]
    extent = _extent(name, axis)
    factors = [n for n in _factors(name, extent, policy, no_tail) if max_factor is None or n <= max_factor]
    inner = itertools.product(factors, repeat=num_outputs - 1)
    exact = policy == "factors" or no_tail
    return [SplitEntity([-1, *reversed(sizes)]) for sizes in inner if _fits(extent, sizes, exact)]


def _extent(name: str, axis: Any) -> int:
    extent = extent_of(axis)
    if extent is None:
        raise fail("autotvm-knob", f"{name}: the axis has no known extent")
    return extent


def _factors(name: str, extent: int, policy: str, no_tail: bool) -> list[int]:
    divisors = get_factors(extent)
    powers = [n for n in get_pow2s(extent) if not no_tail or extent % n == 0]
    found = {"factors": divisors, "power2": powers, "verbose": sorted({*divisors, *powers})}.get(policy)
    if found is None:
        raise _no_policy(name, policy, "factors, power2, verbose, candidate")
    return found


def get_factors(n: int) -> list[int]:
    """The divisors of `n`, in order."""
    return [divisor for divisor in range(1, n + 1) if n % divisor == 0]


def get_pow2s(n: int) -> list[int]:
    """The powers of two up to `n`."""
    return [1 << power for power in range(n.bit_length())]


def _fits(extent: int, sizes: Sequence[int], exact: bool) -> bool:
    inner = math.prod(sizes)
    return extent % inner == 0 if exact else inner <= extent


def reorder_values(
    name: str,
    axes: Sequence[Any],
    policy: str,
    candidate: Sequence[Sequence[Any]] | None,
    interval: tuple[int, int] | None,
) -> list[ReorderEntity]:
    """The orders of axes. Error `autotvm-knob`: there is no such policy."""
    places = range(len(axes))
    match policy:
        case "identity":
            return [ReorderEntity(places)]
        case "all":
            return [ReorderEntity(order) for order in itertools.permutations(places)]
        case "interval_all" if interval is not None:
            inner = itertools.permutations(places[slice(*interval)])
            first, last = places[: interval[0]], places[interval[1] :]
            return [ReorderEntity([*first, *order, *last]) for order in inner]
        case "candidate":
            return [ReorderEntity(_places(axes, order)) for order in candidate or ()]
        case _:
            raise _no_policy(name, policy, "identity, all, interval_all (with interval=), candidate, interleave")


def interleaved_values(
    axes: Sequence[Any], spatial: Sequence[Sequence[Any]], reduce: Sequence[Sequence[Any]]
) -> list[ReorderEntity]:
    """Orders of the parts of split axes: all but the last parts of spatial axes, then those with the parts of reduced
    ones. Of each axis the parts keep their order; next comes a part of an axis with most parts left.
    """
    chains = [_places(axes, chain) for chain in spatial]
    outer = _merged([chain[:-1] for chain in chains])
    inner = list(_merged([*(chain[-1:] for chain in chains), *(_places(axes, chain) for chain in reduce)]))
    return [ReorderEntity([*before, *after]) for before in outer for after in inner]


def _places(axes: Sequence[Any], some: Sequence[Any]) -> list[int]:
    place_of = {id(axis): place for place, axis in enumerate(axes)}
    return [place_of[id(axis)] for axis in some]


def _merged(chains: list[list[int]]) -> Iterator[list[int]]:
    """Takes from a chain with most left, the first of several."""
    longest = max(chains, key=len, default=[])
    if not longest:
        yield []
        return
    taken = chains.index(longest)
    rest = [chain[1:] if place == taken else chain for place, chain in enumerate(chains)]
    for order in _merged(rest):
        yield [longest[0], *order]


def annotate_values(
    name: str, count: int, policy: str, candidate: Sequence[Sequence[str]] | None
) -> list[AnnotateEntity]:
    """The marks of `count` axes. Error `autotvm-knob`: there is no such policy."""
    plain = ["none"] * count
    unrolled = [["none"] * (count - n) + ["unroll"] * n for n in range(count + 1)]
    last = [*plain[:-1], "vec"]
    marks: dict[str, Sequence[Sequence[str]]] = {
        "unroll": [["unroll"] * count],
        "try_unroll": unrolled,
        "vec": [last],
        "try_vec": [plain, last],
        "try_unroll_vec": [*unrolled, *([*one[:-1], "vec"] for one in unrolled if one != plain), last],
        "candidate": candidate or (),
    }
    if policy not in marks:
        raise _no_policy(name, policy, ", ".join(marks))
    return [AnnotateEntity(one) for one in marks[policy]]


def _no_policy(name: str, policy: str, known: str) -> DiagnosticError:
    return fail("autotvm-knob", f"{name}: there is no policy {policy!r}", help=f"on CPUs: {known}")
