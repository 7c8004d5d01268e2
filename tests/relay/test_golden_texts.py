"""Golden texts of Relay: graph form with shared nodes, lets, matches, and what people read when they err."""

from __future__ import annotations

from typing import Any

import pytest

import baton
from baton import relay

PROGRAM = """
#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @length[A](%xs: List[A]) -> int32 {
  match (%xs) { Cons(_, %rest) => 1 + @length(%rest), Nil => 0 }
}
def @main(%x: Tensor[(?, 4), float32], %w: Tensor[(8, 4), float32]) {
  %0 = nn.dense(%x, %w, units=8);
  %1 = nn.relu(%0);
  let %twice = fn (%v) { add(%v, %v) };
  if (@length(Cons(1, Nil)) == 1) { %twice(%1) } else { multiply(%1, %0) }
}
"""


def test_printed(golden: Any) -> None:
    golden.check(relay.parse(PROGRAM).astext(show_meta_data=False))


WRONG = {
    "several": "def @main(%x: Tensor[(2, 3), float32]) { nn.relux(%y) }\ndef @other( { %x }",
    "types": "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(4, 5), float32]) { add(%x, %y) }",
    "cases": "type T { A(int32), B }\ndef @main(%t: T) -> int32 { match (%t) { A(%i) => %i } }",
}


@pytest.mark.parametrize("mistake", WRONG)
def test_diagnostics(mistake: str, golden: Any) -> None:
    """Code, place, carets, help; several findings of one text at once."""
    with pytest.raises(baton.DiagnosticError) as raised:
        relay.parse('#[version = "0.0.5"]\n' + WRONG[mistake])
    golden.check(str(raised.value))
