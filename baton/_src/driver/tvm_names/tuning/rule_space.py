"""The space that a schedule rule leaves open for a kernel: records, from the rule's own choice outwards.

Every record is right for the kernel: a rule takes only answers that it offers. What is offered depends on the answers
so far, so neighbours belong to a record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from random import Random

from baton._src.driver.tuning.search import neighbours
from baton._src.driver.tuning.trial import scheduled
from baton._src.driver.tvm_names.tuning.workloads import has_constant_weight
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import Offer, Record
from baton._src.support.dataclass import dataclass
from baton._src.tir.prim_func import PrimFunc


@dataclass(frozen=True)
class RuleSpace:
    """The records of a kernel for a target."""

    func: PrimFunc
    target: Target
    _known: dict[frozenset[tuple[str, int]], Mapping[str, Offer]] = field(default_factory=dict, repr=False)
    """What was offered, by record: the kernel is scheduled to find out, and populations of proposals share records."""

    def offers(self, record: Record | None = None) -> Mapping[str, Offer]:
        """What the rule leaves open while `record` holds."""
        answers = frozenset((record or {}).items())
        found = self._known.get(answers)
        if found is None:
            made = scheduled(self.func, has_constant_weight(self.func), record or {}, self.target)
            found = self._known.setdefault(answers, made.choices.offered)
        return found

    def drawn(self, random: Random) -> dict[str, int]:
        """Any record: an answer to every choice that comes up."""
        record: dict[str, int] = {}
        while left := {name: offer for name, offer in self.offers(record).items() if name not in record}:
            name, offer = next(iter(left.items()))
            record[name] = random.choice(offer.candidates)
        return record

    def changed(self, record: Record, random: Random) -> dict[str, int]:
        """The record with another answer to one choice, near to that which holds; itself if nothing is open."""
        offers = self.offers(record)
        open_names = [name for name, offer in offers.items() if len(offer.candidates) > 1]
        if not open_names:
            return dict(record)
        name = random.choice(open_names)
        offer = offers[name]
        near = neighbours(list(offer.candidates), record.get(name, offer.default))
        return {**record, name: random.choice(near)}
