"""Measuring the functions of a module in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.runtime.between_repetitions import Between
from baton._src.runtime.module_face import ModuleFace
from baton._src.runtime.timing import BenchmarkResult, measure


class TimedModule(ModuleFace):
    """A module whose functions can be measured on arguments."""

    def time_evaluator(
        self,
        func_name: str,
        dev: Any = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        **options: Any,
    ) -> Callable[..., BenchmarkResult]:
        """A function that measures a function on the arguments it is given; `options` are those of `Between`."""
        function, between = self[func_name], Between(**options)
        return lambda *args: measure(lambda: function(*args), number, repeat, min_repeat_ms, between.before(args))
