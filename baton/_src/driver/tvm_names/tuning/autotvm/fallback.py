"""The configuration of a template without tuning results: the first value of each knob, or what it chooses itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from baton._src.driver.tvm_names.tuning.autotvm.config import ConfigEntity, ConfigSpace
from baton._src.driver.tvm_names.tuning.autotvm.entities import SplitEntity
from baton._src.driver.tvm_names.tuning.autotvm.knob_values import extent_of, get_factors
from baton._src.support.diagnostics import fail


class FallbackConfig(ConfigSpace):
    """The first value of each knob, unless the template sets another: `if cfg.is_fallback: ...`."""

    is_fallback = True

    def __init__(self) -> None:
        super().__init__()
        self._extents: dict[str, int | None] = {}

    def define_split(self, name: str, axis: Any, *args: Any, **options: Any) -> list[Any]:
        """Define how an axis is split; its extent is kept for `fallback_split`."""
        self._extents.setdefault(name, extent_of(axis))
        return super().define_split(name, axis, *args, **options)

    def fallback_split(self, name: str, constraints: Sequence[int]) -> None:
        """Split by the greatest divisors within `constraints`, innermost first; -1 is no constraint.

        An axis of 128 under [-1, 8, 4] is split into [4, 8, 4]; one of 49 into [7, 7, 1].
        """
        extent = self._extents.get(name)
        if extent is None:
            raise fail("autotvm-knob", f"no axis of known extent is split by {name!r}", help="call define_split first")
        sizes: list[int] = []
        for limit in reversed(constraints):
            fitting = [factor for factor in get_factors(extent) if limit == -1 or factor <= limit]
            if not fitting:
                raise fail("autotvm-knob", f"{name}: no loop has {limit} iterations or less", help="-1 is no limit")
            sizes.append(fitting[-1])
            extent //= fitting[-1]
        self[name] = SplitEntity(sizes[::-1])

    def fallback_with_reference_log(self, ref_log: Iterable[tuple[Any, Any]]) -> None:
        """Take over the configuration of the record whose loops divide most like these; nothing if there is none.

        Splits are made anew under its sizes, since loops may be shorter or longer here.
        """
        best = max((one.config for one, _ in ref_log), key=self._likeness, default=None)
        if best is None or not self._likeness(best):
            return
        for name in self.space_map:
            value = best[name]
            if isinstance(value, SplitEntity):
                self.fallback_split(name, [-1, *value.size[1:]])
            else:
                self[name] = value

    def _likeness(self, config: ConfigEntity) -> float:
        """The fraction of the divisors of split loops that also divide the loops of a record."""
        found = 0.0
        for name, extent in self._extents.items():
            if extent is not None and name in config:
                own = set(get_factors(extent))
                found += len(own & set(get_factors(abs(math.prod(config[name].value))))) / len(own)
        return found
