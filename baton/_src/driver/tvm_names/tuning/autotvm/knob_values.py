"""The values that a knob can take, by the policy of its definition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from baton._src.driver.tvm_names.tuning.autotvm.entities import AnnotateEntity, ReorderEntity, SplitEntity
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir.expr import IntImm


def split_values(
    name: str,
    axis: Any,
    policy: str,
    num_outputs: int,
    max_factor: int | None,
    candidate: Sequence[Sequence[int]] | None,
    no_tail: bool,
) -> list[SplitEntity]:
    """How an axis (or a loop of so many iterations) can be split into `num_outputs`.

    Error `autotvm-knob`: its extent is unknown, or there is no such policy.
    """
    if policy == "candidate":
        return [SplitEntity(size) for size in candidate or ()]
    extent = _extent(name, axis)
    factors = [n for n in _factors(name, extent, policy, no_tail) if max_factor is None or n <= max_factor]
    inner = itertools.product(factors, repeat=num_outputs - 1)
    exact = policy == "factors" or no_tail
    return [SplitEntity([-1, *sizes]) for sizes in inner if _fits(extent, sizes, exact)]


def _extent(name: str, axis: Any) -> int:
    extent = axis if isinstance(axis, int) else axis.dom.extent
    if not isinstance(extent, (int, IntImm)):
        raise fail("autotvm-knob", f"{name}: the axis has no known extent")
    return int(extent)


def _factors(name: str, extent: int, policy: str, no_tail: bool) -> list[int]:
    divisors = [n for n in range(1, extent + 1) if extent % n == 0]
    powers = [1 << n for n in range(extent.bit_length()) if not no_tail or extent % (1 << n) == 0]
    found = {"factors": divisors, "power2": powers, "verbose": sorted({*divisors, *powers})}.get(policy)
    if found is None:
        raise _no_policy(name, policy, "factors, power2, verbose, candidate")
    return found


def _fits(extent: int, sizes: Sequence[int], exact: bool) -> bool:
    inner = math.prod(sizes)
    return extent % inner == 0 if exact else inner <= extent


def reorder_values(
    name: str, axes: Sequence[Any], policy: str, candidate: Sequence[Sequence[Any]] | None
) -> list[ReorderEntity]:
    """The orders of axes. Error `autotvm-knob`: there is no such policy."""
    places = range(len(axes))
    match policy:
        case "identity":
            return [ReorderEntity(places)]
        case "all":
            return [ReorderEntity(order) for order in itertools.permutations(places)]
        case "candidate":
            place_of = {id(axis): place for place, axis in enumerate(axes)}
            return [ReorderEntity([place_of[id(axis)] for axis in order]) for order in candidate or ()]
        case _:
            raise _no_policy(name, policy, "identity, all, candidate")


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
