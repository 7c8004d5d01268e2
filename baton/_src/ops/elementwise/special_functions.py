"""Functions NumPy lacks, exact to the last digits of float64."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from baton._src.values.tensor import AnyArray

_erf = np.frompyfunc(math.erf, 1, 1)


def erf(x: npt.ArrayLike) -> AnyArray:
    """The error function, in the dtype of `x`."""
    array = np.asarray(x)
    return np.asarray(_erf(array.astype("float64"))).astype(array.dtype)


def softplus(x: npt.ArrayLike) -> AnyArray:
    """log(1 + e^x), without overflow."""
    return np.asarray(np.logaddexp(x, np.zeros((), np.asarray(x).dtype)))
