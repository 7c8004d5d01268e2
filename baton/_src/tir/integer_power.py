"""What `power` means over NumPy, for integers too.

Integers wrap around. A negative exponent gives the reciprocal rounded toward zero: 1 and -1 for those bases, else 0
(for the base 0 as well, where there is no reciprocal), as division by zero gives 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def power(x: Any, y: Any) -> Any:
    """x ** y, elementwise with broadcasting."""
    base, exponent = np.asarray(x), np.asarray(y)
    if exponent.dtype.kind != "i":
        return np.power(x, y)
    raised = np.power(base, np.maximum(exponent, 0))
    of_minus = np.where(exponent & 1, -1, 1)
    reciprocal = np.where(base == 1, 1, np.where(base == -1, of_minus, 0))
    return np.where(exponent < 0, reciprocal, raised).astype(raised.dtype)
