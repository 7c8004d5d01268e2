"""Functions with different implementations for different targets (`tvm.target.generic_func`).

@tvm.target.generic_func
def width(x): ...                      # where nothing else is registered

@width.register(["cpu"])
def _(x): ...                          # where the current target is a CPU
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import update_wrapper
from typing import Any

from baton._src.ir.target import Target
from baton._src.support.diagnostics import fail

_named: dict[str, GenericFunc] = {}
"""Functions by the names scripts gave them: `get_native_generic_func`."""


class GenericFunc:
    """Calls the function registered for a key of the current target (its kind first), or the one for all others."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.replaces = False
        """Whether `register` puts functions in the place of others if nothing is said."""
        self._default: Callable[..., Any] | None = None
        self._by_key: dict[str, Callable[..., Any]] = {}

    def set_default(self, func: Callable[..., Any], allow_override: bool = False) -> None:
        """Set the function called for targets without their own. Error `api`: there is one already."""
        if self._default is not None and not allow_override:
            raise fail("api", f"{self.name} has a default", help="allow_override=True replaces it")
        self._default = func
        update_wrapper(self, func)

    def register(
        self, func: Any, key_list: Any = None, allow_override: bool | None = None, *, override: bool | None = None
    ) -> Any:
        """`register(function, keys)`, `register(keys, function)`, or the decorator `register(keys)`; TVM has two names
        for the permission to replace, which functions of `override_native_generic_func` give unless told otherwise."""
        may_replace = next((said for said in (allow_override, override) if said is not None), self.replaces)
        if callable(key_list):
            func, key_list = key_list, func
        if not callable(func):
            return lambda found: self.register(found, func, may_replace)
        for key in [key_list] if isinstance(key_list, str) else key_list:
            if key in self._by_key and not may_replace:
                raise fail("api", f"{self.name} has a function for {key}", help="override=True replaces it")
            self._by_key[key] = func
        return func

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.get_packed_func()(*args, **options)

    def get_packed_func(self) -> Callable[..., Any]:
        """The function that a call dispatches to."""
        target = Target.current()
        keys: Iterable[str] = () if target is None else (str(target.kind), *target.keys)
        found = next((self._by_key[k] for k in keys if k in self._by_key), self._default)
        if found is None:
            raise fail("api", f"{self.name} is not defined for {target}", help="set_default, or register(keys)")
        return found


def generic_func(fdefault: Callable[..., Any]) -> GenericFunc:
    """A function with other implementations for other targets, added by `register`."""
    made = GenericFunc(getattr(fdefault, "__name__", ""))
    made.set_default(fdefault)
    return made


def get_native_generic_func(name: str) -> GenericFunc:
    """The function of this name; an empty one if there is none yet."""
    return _named.setdefault(name, GenericFunc(name))


def override_native_generic_func(func_name: str) -> Callable[[Callable[..., Any]], GenericFunc]:
    """The decorator that makes a function the default of the generic function of a name."""

    def put(function: Callable[..., Any]) -> GenericFunc:
        made = get_native_generic_func(func_name)
        made.set_default(function, allow_override=True)
        made.replaces = True
        return made

    return put
