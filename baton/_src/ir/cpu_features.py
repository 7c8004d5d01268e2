"""Which features of CPUs others need, in LLVM's names: `+avx2` switches `avx` on, `-avx512f` all of AVX-512 off."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

_BYTES = ("avx512vbmi", "avx512vbmi2", "avx512bf16", "avx512bitalg")

NEEDS: Mapping[str, tuple[str, ...]] = {
    "sse2": ("sse",),
    "sse3": ("sse2",),
    "ssse3": ("sse3",),
    "sse4a": ("sse3",),
    "sse4.1": ("ssse3",),
    "sse4.2": ("sse4.1",),
    "avx": ("sse4.2",),
    "avx2": ("avx",),
    "f16c": ("avx",),
    "fma": ("avx",),
    "avxvnni": ("avx2",),
    "avxvnniint8": ("avx2",),
    "avxvnniint16": ("avx2",),
    "avxifma": ("avx2",),
    "avxneconvert": ("avx2",),
    "avx512f": ("avx2", "f16c", "fma"),
    **dict.fromkeys(("avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512ifma"), ("avx512f",)),
    **dict.fromkeys(("avx512vnni", "avx512vpopcntdq", "avx512vp2intersect"), ("avx512f",)),
    **dict.fromkeys(_BYTES, ("avx512bw",)),
    "avx512fp16": ("avx512bw", "avx512dq", "avx512vl"),
    "amx-bf16": ("amx-tile",),
    "amx-int8": ("amx-tile",),
    "neon": ("fp-armv8",),
    "fullfp16": ("fp-armv8",),
    **dict.fromkeys(("bf16", "dotprod", "i8mm"), ("neon",)),
    "sve": ("fullfp16",),
    "sve2": ("sve",),
}
"""What a feature cannot be without. Others need nothing here."""


def changed(features: Collection[str], changes: Iterable[str]) -> frozenset[str]:
    """`features` with some switched on (`+avx2` or `avx2`), with what they need, and some off (`-avx512f`), with what
    needs them; in this order of the changes, as LLVM understands them.
    """
    found = set(features)
    for change in changes:
        sign, name = (change[0], change[1:]) if change[:1] in "+-" else ("+", change)
        if sign == "+":
            found |= needed(name)
        else:
            found = {feature for feature in found if name not in needed(feature)}
    return frozenset(found)


def needed(feature: str) -> set[str]:
    """`feature` and what it needs, directly or not."""
    found, left = {feature}, [feature]
    while left:
        fresh = set(NEEDS.get(left.pop(), ())) - found
        found |= fresh
        left += fresh
    return found
