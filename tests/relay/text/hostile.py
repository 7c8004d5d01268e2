"""Texts that are no programs: random bytes, words in random order, and programs with something changed."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

PROGRAMS = (
    """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @map[A, B](%f: fn(A) -> B, %xs: List[A]) -> List[B] {
  match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil }
}
def @main(%x: Tensor[(2, 3), float32], %n: int32) -> List[bool] {
  @map(fn(%y: float32) -> bool { %y < 1f }, Cons(2f, Nil))
}""",
    """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]) /* ty=Tensor[(1, 4, 8, 8), float32] */;
  %1 = (%0, nn.relu(%0));
  %2 = reshape(%1.1, newshape=[1, -1]);
  add(%2, meta[relay.Constant][0])
}
#[metadata]
{"relay.Constant": [{"dtype": "float32", "shape": [1], "data": "AACAPw=="}]}""",
    """data Nat { Z : () -> Nat
  S : (Nat) -> Nat }
def @count(%n : Nat) -> int32 { match (%n) { case Z() { 0 } case S(%m) { 1 + @count(%m) } } }
def @main(%c : bool, %t : (int32, Tensor[(?, 4), float32])) {
  let %r = ref(%t.0);
  let %f = fn<t : Type>(%x : t) -> t { %x };
  %1 = log(%t.1)
  if (%c) { ref_write(%r, 1); (ref_read(%r), %1) } else { (%f(@count(S(Z()))), %f(%1)) }
}""",
    """def @loop(%i: int64, %acc: (float32,)) where Identity { %acc }
def @main(%s: Tensor[(n, 2), float16]) {
  let %a = Constant(1.5f, (2, 2), float32);
  match? ((%a, "x")) { (%p, _) => split(%p, indices_or_sections=2, axis=1).0 }
}""",
)
"""Both notations, every construct."""

_WORDS = re.compile(r'"[^"\n]*"|[%@]?[\w.]+|\s+|[^\w\s]')
EXTRA = (
    "let", "fn", "def", "if", "else", "match", "match?", "type", "extern", "data", "case", "free_var", "ref", "where",
    "#[version = \"0.0.5\"]", "#[metadata]", "meta[relay.Constant][9]", "%0 = ", "%x", "@main", "@f", "(", ")", "{",
    "}", "[", "]", "<", ">", "=>", "->", ";", ",", ".", "?", "_", "-", "1", "1f", "99999999999999999999999", "0x",
    "1e999", "nan", "inff", "-5", "3.7i32", "Tensor[(-1), float32]", "Tensor[(1000000, 1000000), float32]", "int7",
    "float33", "axis=99", "newshape=[-1, -1]", "\"", "/*", "*/", "//", "\\", "\0", "é", "add", "exp", "concatenate",
    "nn.conv2d", "List", "Cons", "Nil", "Type", "Shape", "bool", "True", "None", "nullptr", "Constant(1, (9), int8)",
)  # fmt: skip


def words(text: str) -> list[str]:
    return _WORDS.findall(text)


@st.composite
def mutated(draw: Any) -> str:
    """A program with a few words removed, doubled, exchanged, or put in."""
    found = words(draw(st.sampled_from(PROGRAMS)))
    other = words(draw(st.sampled_from(PROGRAMS)))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(found) - 1))
        match draw(st.integers(0, 5)):
            case 0:
                del found[place : place + draw(st.integers(1, 3))]
                found = found or [""]
            case 1:
                found[place:place] = found[place : place + draw(st.integers(1, 8))]
            case 2:
                second = draw(st.integers(0, len(found) - 1))
                found[place], found[second] = found[second], found[place]
            case 3:
                found[place] = draw(st.sampled_from(EXTRA))
            case 4:
                found.insert(place, f" {draw(st.sampled_from(EXTRA))} ")
            case _:
                start = draw(st.integers(0, len(other) - 1))
                found[place] = other[start]
    return "".join(found)


soups = st.lists(st.sampled_from(EXTRA), max_size=25).map(" ".join)
"""Words of the language in any order."""

noise = st.one_of(st.binary(max_size=60).map(lambda b: b.decode("latin-1")), st.text(max_size=60))
