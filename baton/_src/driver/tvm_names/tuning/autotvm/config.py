"""`ConfigSpace`: the knobs of a template with their values; `ConfigEntity`: one value for each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from baton._src.driver.tvm_names.tuning.autotvm.entities import (
    AnnotateEntity,
    Entity,
    OtherOptionEntity,
    ReorderEntity,
    SplitEntity,
    entity,
)
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import IntImm

_ANNOTATIONS = ("unroll", "try_unroll", "vec", "try_vec", "try_unroll_vec")


class Config:
    """What a template asks: `cfg["tile_y"].apply(s, C, y)`, `cfg["unroll"].val`."""

    is_fallback = False

    def __init__(self) -> None:
        self.flop = 0.0

    def axis(self, var: Any) -> Any:
        """An axis as the definitions of knobs take it: itself."""
        return var

    reduce_axis = axis

    def add_flop(self, flop: Any) -> None:
        """Count floating-point operations, by which rates are told."""
        self.flop += float(getattr(flop, "value", flop))

    def valid(self) -> bool:
        """Whether the template made a schedule of it."""
        return True


class ConfigSpace(Config):
    """The knobs, as a template defines them; while it does, it meets the first value of each."""

    def __init__(self) -> None:
        super().__init__()
        self.space_map: dict[str, list[Entity]] = {}

    def define_split(
        self,
        name: str,
        axis: Any,
        policy: str = "factors",
        num_outputs: int = 2,
        filter: Callable[[SplitEntity], bool] | None = None,
        max_factor: int | None = None,
        candidate: Sequence[Sequence[int]] | None = None,
        no_tail: bool = False,
        **_others: Any,
    ) -> list[Any]:
        """How an axis (or a loop of so many iterations) is split into `num_outputs`.

        `policy`: "factors" (divisors of its extent), "power2", "verbose" (both), "candidate". The axes are given as
        they will be: as many as there are parts.
        """
        extent = _extent(name, axis)
        if policy == "candidate":
            found = [SplitEntity(size) for size in candidate or ()]
        else:
            parts = _parts(name, extent, policy, no_tail)
            inner = itertools.product(
                [n for n in parts if max_factor is None or n <= max_factor], repeat=num_outputs - 1
            )
            fitting = (sizes for sizes in inner if _fits(extent, sizes, policy == "factors" or no_tail))
            found = [SplitEntity([-1, *sizes]) for sizes in fitting]
        self._define(name, [one for one in found if filter is None or filter(one)])
        return [axis] * num_outputs

    def define_reorder(
        self,
        name: str,
        axes: Sequence[Any],
        policy: str,
        candidate: Sequence[Sequence[Any]] | None = None,
        **_others: Any,
    ) -> list[Any]:
        """In which order axes stand: "identity", "all", or those of `candidate` (lists of the axes)."""
        if policy == "identity":
            orders = [list(range(len(axes)))]
        elif policy == "all":
            orders = [list(order) for order in itertools.permutations(range(len(axes)))]
        elif policy == "candidate":
            places = {id(axis): place for place, axis in enumerate(axes)}
            orders = [[places[id(axis)] for axis in order] for order in candidate or ()]
        else:
            raise fail("autotvm-knob", f"{name}: there is no policy {policy!r}", help="identity, all or candidate")
        self._define(name, [ReorderEntity(order) for order in orders])
        return list(axes)

    def define_annotate(
        self,
        name: str,
        axes: Sequence[Any],
        policy: str,
        filter: Callable[[AnnotateEntity], bool] | None = None,
        candidate: Sequence[Sequence[str]] | None = None,
        **_others: Any,
    ) -> None:
        """How axes are marked, by a policy: unroll, try_unroll, vec, try_vec, try_unroll_vec, candidate."""
        marks = candidate or () if policy == "candidate" else _marks(name, len(axes), policy)
        found = [AnnotateEntity(one) for one in marks]
        self._define(name, [one for one in found if filter is None or filter(one)])

    def define_knob(self, name: str, candidate: Sequence[Any]) -> None:
        """Any values."""
        self._define(name, [OtherOptionEntity(value) for value in candidate])

    def _define(self, name: str, values: Sequence[Entity]) -> None:
        if not values:
            raise fail("autotvm-knob", f"knob {name!r} has no value", help="its filter or policy leaves none")
        self.space_map.setdefault(name, list(values))

    def __getitem__(self, name: str) -> Entity:
        values: list[Entity] = _known(self.space_map, name)
        return values[0]

    def __setitem__(self, name: str, value: Entity) -> None:
        self.space_map[name] = [value]

    def __contains__(self, name: str) -> bool:
        return name in self.space_map

    @property
    def dims(self) -> list[int]:
        """How many values each knob has."""
        return [len(values) for values in self.space_map.values()]

    def __len__(self) -> int:
        return math.prod(self.dims)

    range_length = property(__len__)

    def get(self, index: int) -> ConfigEntity:
        """The configuration number `index`; the first knob changes fastest."""
        if not 0 <= index < len(self):
            raise fail("autotvm-knob", f"there is no configuration {index} of {len(self)}", kind=ValueError)
        left, chosen = index, {}
        for name, values in self.space_map.items():
            left, place = divmod(left, len(values))
            chosen[name] = values[place]
        return ConfigEntity(index, chosen)

    def neighbour(self, index: int, random: Random) -> int:
        """The number of a configuration with another value of one knob; the same if there is none."""
        dims = self.dims
        open_places = [place for place, count in enumerate(dims) if count > 1]
        if not open_places:
            return index
        place = random.choice(open_places)
        stride = math.prod(dims[:place])
        now = index // stride % dims[place]
        other = random.choice([value for value in range(dims[place]) if value != now])
        return index + (other - now) * stride

    def __repr__(self) -> str:
        lines = [f"  {name}: {len(values)} values, {values[0]!r} ..." for name, values in self.space_map.items()]
        return "\n".join([f"ConfigSpace (len={len(self)})", *lines])


class FallbackConfig(ConfigSpace):
    """What a template meets where nothing is in force: the first value of each knob, or what it sets itself."""

    is_fallback = True


class ConfigEntity(Config):
    """One value for each knob. The definitions of a template are met again, and change nothing."""

    def __init__(self, index: int, values: dict[str, Entity]) -> None:
        super().__init__()
        self.index = index
        self.values = values

    def __getitem__(self, name: str) -> Entity:
        found: Entity = _known(self.values, name)
        return found

    def __setitem__(self, name: str, value: Entity) -> None:
        self.values[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def define_split(self, name: str, axis: Any, policy: str = "factors", num_outputs: int = 2, **_o: Any) -> list[Any]:
        """Defined already."""
        return [axis] * num_outputs

    def define_reorder(self, name: str, axes: Sequence[Any], policy: str, **_others: Any) -> list[Any]:
        """Defined already."""
        return list(axes)

    def define_annotate(self, name: str, axes: Sequence[Any], policy: str, **_others: Any) -> None:
        """Defined already."""

    def define_knob(self, name: str, candidate: Sequence[Any]) -> None:
        """Defined already."""

    def to_json_dict(self) -> dict[str, Any]:
        """The values, as logs have them."""
        rows = [[name, one.kind, one.value] for name, one in self.values.items()]
        return {"index": self.index, "code_hash": None, "entity": rows}

    @staticmethod
    def from_json_dict(json_dict: dict[str, Any]) -> ConfigEntity:
        """The inverse of `to_json_dict`."""
        values = {str(name): entity(str(kind), value) for name, kind, value in json_dict["entity"]}
        return ConfigEntity(int(json_dict["index"]), values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConfigEntity) and self.values == other.values

    def __hash__(self) -> int:
        return hash(tuple(self.values.items()))

    def __repr__(self) -> str:
        return f"{list(self.values.items())},{self.index}"


def _known(values: dict[str, Any], name: str) -> Any:
    if name not in values:
        there = f"there are: {', '.join(values)}"
        raise fail("autotvm-knob", f"the configuration has no knob {name!r}", help=there, kind=ValueError)
    return values[name]


def _extent(name: str, axis: Any) -> int:
    extent = axis if isinstance(axis, int) else axis.dom.extent
    if not isinstance(extent, (int, IntImm)):
        raise fail("autotvm-knob", f"{name}: the axis has no known extent")
    return int(extent)


def _parts(name: str, extent: int, policy: str, no_tail: bool) -> list[int]:
    divisors = [n for n in range(1, extent + 1) if extent % n == 0]
    powers = [1 << n for n in range(extent.bit_length()) if not no_tail or extent % (1 << n) == 0]
    found = {"factors": divisors, "power2": powers, "verbose": sorted({*divisors, *powers})}.get(policy)
    if found is None:
        raise fail("autotvm-knob", f"{name}: there is no policy {policy!r}", help="factors, power2, verbose, candidate")
    return found


def _fits(extent: int, sizes: Sequence[int], exact: bool) -> bool:
    inner = math.prod(sizes)
    return extent % inner == 0 if exact else inner <= extent


def _marks(name: str, count: int, policy: str) -> list[list[str]]:
    if policy not in _ANNOTATIONS:
        help = f"on CPUs: {', '.join(_ANNOTATIONS)}, candidate"
        raise fail("autotvm-knob", f"{name}: there is no policy {policy!r}", help=help)
    plain = ["none"] * count
    unrolled = [["none"] * (count - n) + ["unroll"] * n for n in range(count + 1)]
    last = [*plain[:-1], "vec"]
    match policy:
        case "unroll":
            return [["unroll"] * count]
        case "try_unroll":
            return unrolled
        case "vec":
            return [last]
        case "try_vec":
            return [plain, last]
        case _:
            return [*unrolled, *([*one[:-1], "vec"] for one in unrolled if one != plain), last]
