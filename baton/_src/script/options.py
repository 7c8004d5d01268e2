"""The decorators as objects, with the options they take in parentheses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

MACROS = ("R.macro", "T.macro")


@dataclass(frozen=True)
class Options:
    """A decorator with its options; applied to a class or function, it reads it."""

    decorator: Decorator
    pure: bool = True
    private: bool = False
    check_well_formed: bool = True
    hygienic: bool = True

    def __call__(self, subject: Any) -> Any:
        return self.decorator.apply(subject, self)


class Decorator:
    """`@R.function`, `@R.macro`, `@T.prim_func`, `@I.ir_module`: recognised by object, whatever they are called."""

    def __init__(self, name: str, allowed: tuple[str, ...], apply: Callable[[Any, Options], Any]) -> None:
        self.name = name
        self.allowed = allowed
        self.apply = apply

    def __call__(self, subject: Any = None, **options: Any) -> Any:
        """With a class or function: read it. With options: the decorator that does so."""
        for name, value in options.items():
            if name not in self.allowed:
                known = ", ".join(self.allowed) or "none"
                raise fail("script-decorator", f"{self.name} has no option {name!r}", help=f"its options are: {known}")
            if not isinstance(value, bool):
                raise fail("script-decorator", f"{self.name}: option {name} is True or False, got {value!r}")
        found = Options(self, **options)
        return found if subject is None else found(subject)

    def __repr__(self) -> str:
        return self.name


def options_of(said: Any) -> Options | None:
    """The options of a decorator expression's value; None if it is not one of our decorators."""
    if isinstance(said, Options):
        return said
    return Options(said) if isinstance(said, Decorator) else None
