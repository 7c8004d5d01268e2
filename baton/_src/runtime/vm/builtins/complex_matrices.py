"""Linear algebra of complex matrices, which programs keep as pairs of real ones: the functions of `matrices`,
`reflectors` and `symmetric_factors` under the name `of_complex`, whose complex operands and results are two tensors
each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from baton._src.runtime.vm.builtins import matrices, reflectors, symmetric_factors
from baton._src.values.tensor import NDArray

_KINDS = {
    "lu_factor": ("c", "crr"), "lu_solve": ("crc", "c"), "lu_unpack": ("cr", "ccc"), "triangular_solve": ("cc", "c"),
    "inverse": ("c", "cr"), "cholesky": ("c", "cr"), "qr": ("c", "cc"), "eigh": ("c", "rc"), "svd": ("c", "crc"),
    "eig": ("c", "cc"), "exponential": ("c", "c"), "reflectors": ("c", "cc"), "reflectors_product": ("cc", "c"),
    "reflectors_multiply": ("ccc", "c"), "ldl_factor": ("c", "crr"), "ldl_solve": ("crc", "c"),
}  # fmt: skip
"""Which tensors are complex (`c`) and real (`r`): operands, before numbers and words; results."""


def _of_parts(function: Callable[..., Any], operands: str, results: str) -> Callable[..., Any]:
    def apply(*given: Any) -> Any:
        rest = iter(given)
        joined = [_joined(next(rest), next(rest)) if kind == "c" else next(rest) for kind in operands]
        found = function(*joined, *rest)
        found = found if isinstance(found, tuple) else (found,)
        tensors = tuple(part for kind, value in zip(results, found, strict=True) for part in _parts(kind, value))
        return tensors if len(tensors) > 1 else tensors[0]

    return apply


def _joined(real: NDArray, imag: NDArray) -> NDArray:
    array = np.empty(real.shape, np.result_type(real.data.dtype, np.complex64))
    array.real, array.imag = real.data, imag.data
    return NDArray(array)


def _parts(kind: str, value: NDArray) -> Iterator[NDArray]:
    array = value.data
    yield NDArray(np.array(array.real, order="C"))
    if kind == "c":
        yield NDArray(np.array(array.imag, order="C"))


_PREFIX = "vm.builtin.matrices."
_NAMED = {**matrices.TABLE, **reflectors.TABLE, **symmetric_factors.TABLE, f"{_PREFIX}eig": matrices.eig}

TABLE: Mapping[str, Callable[..., Any]] = {
    **{f"{_PREFIX}of_complex.{name}": _of_parts(_NAMED[_PREFIX + name], *kinds) for name, kinds in _KINDS.items()},
    f"{_PREFIX}eig": _of_parts(matrices.eig, "r", "cc"),
}
"""Eigenvalues of real matrices are complex, too."""
