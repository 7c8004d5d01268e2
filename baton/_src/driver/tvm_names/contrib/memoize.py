"""`tvm.contrib.pickle_memoize`: functions whose results are remembered, such as references that tests compute.

TVM keeps the results in a pickled file, too; here they last as long as the process, as nothing is pickled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from baton._src.support.diagnostics import fail

P = ParamSpec("P")
R = TypeVar("R")

_RESULTS: dict[tuple[Any, ...], Any] = {}


def memoize(key: str, save_at_exit: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: what the function gave for the same arguments, and the same values of the variables around it that
    it reads, is given again. Functions with one `key` share results. Error `api`: one of these values cannot be looked
    up by: it is no number, no text, and no tuple of such.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def remembered(*args: P.args, **kwargs: P.kwargs) -> R:
            around = tuple(cell.cell_contents for cell in getattr(function, "__closure__", None) or ())
            values = (around, args, tuple(sorted(kwargs.items())))
            place = (key, values, repr(values))  # 1, 1.0 and True are equal, and written differently
            try:
                known = place in _RESULTS
            except TypeError as error:
                help = "pass numbers, texts and tuples"
                raise fail("api", f"results of {key} cannot be remembered: {error}", help=help) from error
            if not known:
                _RESULTS[place] = function(*args, **kwargs)
            found: R = _RESULTS[place]
            return found

        return remembered

    return decorated
