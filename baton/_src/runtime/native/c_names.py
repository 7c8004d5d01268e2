"""What the functions of kernels are called in C: the names that code generation writes and the loader looks up."""

from __future__ import annotations

import re

_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false NULL
main asm typeof and or not xor bitand bitor compl catch class delete explicit export friend mutable namespace new
operator private protected public template this throw try typename using virtual wchar_t
"""
_LIBRARY = """
abs acos acosh asin asinh atan atan2 atanh calloc cbrt ceil copysign cos cosh div erf erfc exit exp exp2 expm1 fabs fdim
floor fma fmax fmin fmod free frexp hypot ilogb isfinite isinf isnan labs ldexp lgamma log log10 log1p log2 logb lrint
lround malloc memcpy memmove memset modf nan nearbyint nextafter pow qsort rand realloc remainder remquo rint round
scalbn signbit sin sinh sqrt strlen system tan tanh tgamma trunc y0 y1 yn j0 j1 jn index gamma signgam
"""
TAKEN = frozenset((*_WORDS.split(), *_LIBRARY.split()))
"""Words of C and C++, and functions of C's headers (for doubles; those for floats end in f): nothing is called so."""
_PREFIX = "tvmgen_"
_BARE = "_compute_"


def identifier(name: str) -> str:
    """`name` with what C's names cannot have replaced."""
    spelled = re.sub(r"\W", "_", name, flags=re.ASCII) or "v"
    return f"_{spelled}" if spelled[0].isdigit() else spelled


def is_taken(name: str) -> bool:
    """Whether a name means something in C or in every file of kernels."""
    return not {name, name.removesuffix("f")}.isdisjoint(TAKEN) or name.startswith("baton_")


def packed_name(symbol: str) -> str:
    """What the function of a kernel is called that TVM's runtimes call."""
    name = identifier(symbol)
    return f"{_PREFIX}{name}" if is_taken(name) else name


def bare_name(symbol: str) -> str:
    """What the function of a kernel is called that takes bare pointers and scalars."""
    return f"{identifier(symbol)}{_BARE}"
