"""Parameters of topi's functions: the names TVM v0.19 has for them, and those that stand for its tuner's layouts.

under_names(function, data="Input", kernel="Filter")        function(Input=a, Filter=w, ...)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from baton._src.support.diagnostics import fail


def under_names(function: Callable[..., Any], **names: str) -> Callable[..., Any]:
    """`function` with some of its parameters called otherwise; their order and defaults stay."""
    signature = inspect.signature(function)
    parameters = [p.replace(name=names.get(p.name, p.name)) for p in signature.parameters.values()]
    own = signature.replace(parameters=parameters)

    @functools.wraps(function)
    def renamed(*args: Any, **named: Any) -> Any:
        bound = own.bind(*args, **named)
        bound.apply_defaults()
        return function(*bound.args, **bound.kwargs)

    vars(renamed)["__signature__"] = own
    return renamed


def with_layouts_as_given(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` taking also what TVM's tuners tell of weights they laid out anew: baton's never do, and any other
    layout than the weight's own is refused.
    """
    signature = inspect.signature(function)
    told = [
        inspect.Parameter("auto_scheduler_rewritten_layout", inspect.Parameter.KEYWORD_ONLY, default=""),
        inspect.Parameter("meta_schedule_original_shape", inspect.Parameter.KEYWORD_ONLY, default=None),
    ]

    @functools.wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        for parameter in told:
            if named.pop(parameter.name, None):
                message = (
                    f"{function.__name__} does not take {parameter.name}: baton's tuners leave weights as they are"
                )
                raise fail("topi", message, help="leave it out, and pass the weight in its own layout")
        return function(*args, **named)

    vars(checked)["__signature__"] = signature.replace(parameters=[*signature.parameters.values(), *told])
    return checked
