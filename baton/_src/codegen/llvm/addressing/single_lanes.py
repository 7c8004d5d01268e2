"""Masked stores of one known lane, as stores of that lane:

    call void @llvm.masked.store.v4i8.p0(<4 x i8> %v, ptr align 1 %p, <4 x i1> <i1 false, i1 true, i1 false, i1 false>)
    ->  %single.0 = extractelement <4 x i8> %v, i64 1
        %place.0 = getelementptr i8, ptr %p, i64 1
        store i8 %single.0, ptr %place.0, align 1

LLVM 22.1 does the same for AVX-512, but stores a lane of a truncated vector with its width before truncation, and so
overwrites what follows (llvm/llvm-project#179489, fixed in later versions). Which masks are constant is known only
after optimisation.
"""

from __future__ import annotations

import re
from itertools import count

_NARROWED = re.compile(r"@llvm\.masked\.store\.v\d+i(?:8|16|32)\.")
_STORE = re.compile(
    r"^.*call void @llvm\.masked\.store\.[^(]+\("
    r"<(?P<lanes>\d+) x (?P<kind>i8|i16|i32)> (?:[a-z]+ )*(?P<value>%[\w.]+), "
    r"ptr (?P<attributes>(?:[a-z]+(?:\([^)]*\))? (?:\d+ )?)*)(?P<pointer>.+), "
    r"<\d+ x i1> <(?P<mask>i1 \w+(?:, i1 \w+)*)>\).*$",
    re.MULTILINE,
)


def stores_narrow_lanes(text: str) -> bool:
    """Whether a module stores, under a mask, integers that may have been truncated."""
    return _NARROWED.search(text) is not None


def with_single_lanes(text: str) -> str:
    """The optimised module with every such store replaced."""
    numbers = count()
    return _STORE.sub(lambda found: _spelt_out(found, next(numbers)), text)


def _spelt_out(store: re.Match[str], number: int) -> str:
    stored = [place for place, lane in enumerate(store["mask"].split(", ")) if lane == "i1 true"]
    if len(stored) != 1:
        return store[0]
    kind, width = store["kind"], int(store["kind"][1:]) // 8
    given = re.search(r"align (\d+)", store["attributes"])
    align = min(int(given[1]), width) if given else 1
    return (
        f"  %single.{number} = extractelement <{store['lanes']} x {kind}> {store['value']}, i64 {stored[0]}\n"
        f"  %place.{number} = getelementptr {kind}, ptr {store['pointer']}, i64 {stored[0]}\n"
        f"  store {kind} %single.{number}, ptr %place.{number}, align {align}"
    )
