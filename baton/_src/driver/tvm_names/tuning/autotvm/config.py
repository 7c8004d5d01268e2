"""`ConfigSpace`: the knobs of a template with their values; `ConfigEntity`: one value for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from baton._src.driver.tvm_names.tuning.autotvm.entities import (
    AnnotateEntity,
    Entity,
    OtherOptionEntity,
    SplitEntity,
    entity,
)
from baton._src.driver.tvm_names.tuning.autotvm.knob_values import (
    KnobValues,
    VirtualAxis,
    annotate_values,
    interleaved_values,
    parts_of,
    reorder_values,
    split_values,
)
from baton._src.driver.tvm_names.tuning.autotvm.numbering import Numbering
from baton._src.support.diagnostics import fail


class Config:
    """The configuration that a template reads: `cfg["tile_y"].apply(s, C, y)`, `cfg["unroll"].val`."""

    is_fallback = False
    code_hash = None
    """TVM's mark of a template's code in logs; records here belong to what is computed."""

    def __init__(self) -> None:
        self.flop = 0.0
        self.errors: list[str] = []

    def axis(self, var: Any) -> VirtualAxis:
        """An axis (or so many iterations) as the definitions of knobs take it."""
        return VirtualAxis(var)

    reduce_axis = axis

    def add_flop(self, flop: Any) -> None:
        """Count floating-point operations, by which rates are told."""
        self.flop += float(getattr(flop, "value", flop))

    def raise_error(self, msg: str) -> None:
        """Say why the template takes no such configuration: it is not measured then."""
        self.errors.append(msg)

    def valid(self) -> bool:
        """Whether the template took it."""
        return not self.errors


class ConfigSpace(Config, Numbering):
    """The knobs, as a template defines them; while it does, it reads the first value of each."""

    def __init__(self) -> None:
        Config.__init__(self)
        Numbering.__init__(self)
        self.space_map: dict[str, KnobValues] = {}

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
    ) -> list[Any]:
        """Define how an axis (or a loop with that many iterations) is split into `num_outputs`.

        `policy`: "factors" (divisors of its extent), "power2", "verbose" (both), "candidate". What it gives are the
        parts, outermost first, for `define_reorder` and `define_annotate`.
        """
        found = split_values(name, axis, policy, num_outputs, max_factor, candidate, no_tail)
        about = f"Split(policy={policy}, product={VirtualAxis(axis).length}, num_outputs={num_outputs})"
        self._define(name, [one for one in found if filter is None or filter(one)], about)
        return parts_of(name, num_outputs)

    def define_reorder(
        self,
        name: str,
        axes: Sequence[Any],
        policy: str,
        candidate: Sequence[Sequence[Any]] | None = None,
        interval: tuple[int, int] | None = None,
        spatial: Sequence[Sequence[Any]] = (),
        reduce: Sequence[Sequence[Any]] = (),
    ) -> list[Any]:
        """In which order axes stand: "identity", "all", "interval_all" (all orders of the axes in `interval`),
        "candidate" (lists of the axes), or "interleave" (parts of `spatial` and `reduce` axes, outer parts first).
        """
        found = (
            interleaved_values(axes, spatial, reduce)
            if policy == "interleave"
            else reorder_values(name, axes, policy, candidate, interval)
        )
        self._define(name, found, f"Reorder(policy={policy})")
        return list(axes)

    def define_annotate(
        self,
        name: str,
        axes: Sequence[Any],
        policy: str,
        filter: Callable[[AnnotateEntity], bool] | None = None,
        candidate: Sequence[Sequence[str]] | None = None,
    ) -> None:
        """Define how axes are annotated, by a policy: unroll, try_unroll, vec, try_vec, try_unroll_vec, candidate."""
        found = annotate_values(name, len(axes), policy, candidate)
        self._define(name, [one for one in found if filter is None or filter(one)], f"Annotate(policy={policy})")

    def define_knob(self, name: str, candidate: Sequence[Any]) -> None:
        """Any values."""
        self._define(name, [OtherOptionEntity(value) for value in candidate])

    def _define(self, name: str, values: Sequence[Entity], what: str = "") -> None:
        if not values:
            raise fail("autotvm-knob", f"knob {name!r} has no value", help="its filter or policy leaves none")
        self.space_map.setdefault(name, KnobValues(values, what))
        self.clear_shared_filter_cache()

    def __getitem__(self, name: str) -> Entity:
        values: KnobValues = _known(self.space_map, name)
        return values[0]

    def __setitem__(self, name: str, value: Entity) -> None:
        self.space_map[name] = KnobValues([value])

    def __contains__(self, name: str) -> bool:
        return name in self.space_map

    @property
    def dims(self) -> list[int]:
        """The number of values of each knob."""
        return [len(values) for values in self.space_map.values()]

    def get(self, index: int) -> ConfigEntity:
        """The configuration number `index`; the first knob changes fastest."""
        self.expect_number(index)
        knobs = zip(self.space_map.items(), self.point2knob(index))
        return ConfigEntity(index, {name: values[place] for (name, values), place in knobs})

    def __iter__(self) -> Iterator[str]:
        return iter(self.space_map)

    def __repr__(self) -> str:
        """TVM's text."""
        knobs = "".join(f"  {n:2d} {name}: {values}\n" for n, (name, values) in enumerate(self.space_map.items()))
        return f"ConfigSpace (len={len(self)}, range_length={self.range_length}, space_map=\n{knobs})"


class ConfigEntity(Config):
    """One value for each knob. The template defines its knobs again, as the space has them: that changes nothing."""

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
        return parts_of(name, num_outputs)

    def define_reorder(self, name: str, axes: Sequence[Any], policy: str, **_o: Any) -> list[Any]:
        """Defined already."""
        return list(axes)

    def define_annotate(self, name: str, axes: Sequence[Any], policy: str, **_o: Any) -> None:
        """Defined already."""

    def define_knob(self, name: str, candidate: Sequence[Any]) -> None:
        """Defined already."""

    def multi_filter(self, filter: Callable[[Any], bool]) -> None:
        """Asked already."""

    def get_other_option(self) -> dict[OtherOptionEntity, Any]:
        """The values of knobs that are any values."""
        return {one: one.val for one in self.values.values() if isinstance(one, OtherOptionEntity)}

    def get_flatten_feature(self) -> Any:
        """The values of all knobs as one vector of float32; marks of loops by their numbers, one place for each."""
        return np.array([number for one in self.values.values() for number in one.feature()], np.float32)

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
        """TVM's text."""
        return f"{list(self.values.items())},{self.code_hash},{self.index}"


def _known(values: dict[str, Any], name: str) -> Any:
    if name not in values:
        there = f"there are: {', '.join(values)}"
        raise fail("autotvm-knob", f"the configuration has no knob {name!r}", help=there, kind=ValueError)
    return values[name]
