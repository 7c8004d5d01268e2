"""The table of conformance rules, read from `rules.tsv`."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

RULES_FILE = Path(__file__).with_name("rules.tsv")
COLUMNS = ("id", "source", "rule", "kind", "accept", "reject")
NOTHING_TO_REJECT = "-"


@dataclass(frozen=True, slots=True)
class Rule:
    """One checkable demand: `accept` must work, `reject` must be refused (`-` where nothing can be)."""

    id: str
    source: str
    rule: str
    kind: str
    accept: str
    reject: str

    @property
    def can_reject(self) -> bool:
        return self.reject != NOTHING_TO_REJECT

    @property
    def is_retired(self) -> bool:
        return self.rule.startswith("RETIRED")

    @property
    def group(self) -> str:
        """`RELAX-WF` of `RELAX-WF-13`: the first two words of the id."""
        return "-".join(self.id.split("-")[:2])


@cache
def load_rules() -> dict[str, Rule]:
    """Every rule by its id, in the order of the file."""
    with RULES_FILE.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        header = tuple(next(rows))
        if header != COLUMNS:
            raise ValueError(f"{RULES_FILE.name}: expected the columns {COLUMNS}, found {header}")
        rules: dict[str, Rule] = {}
        for number, row in enumerate(rows, start=2):
            if len(row) != len(COLUMNS):
                raise ValueError(f"{RULES_FILE.name}:{number}: {len(row)} fields instead of {len(COLUMNS)}")
            rule = Rule(*row)
            if rule.id in rules:
                raise ValueError(f"{RULES_FILE.name}:{number}: {rule.id} stands there twice")
            rules[rule.id] = rule
    return rules
