"""Named, typed settings: a table declares them, `checked` validates what a user passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.suggestions import did_you_mean


@dataclass(frozen=True, slots=True)
class Option:
    """A setting: its dotted name, the class of its value, the default, one line of documentation, and for a dict of
    options the names that may be in it (none: any).
    """

    name: str
    type: type
    default: Any
    doc: str = ""
    keys: tuple[str, ...] = ()


class Options:
    """A read-only table of options by name."""

    def __init__(self, options: Iterable[Option]) -> None:
        self._options = {option.name: option for option in options}

    def __getitem__(self, name: str) -> Option:
        found = self._options.get(name)
        if found is None:
            hint = did_you_mean(name, self._options, f"known: {', '.join(sorted(self._options))}")
            raise fail("config-unknown", f"there is no setting {name!r}", help=hint, kind=AttributeError)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._options

    def __iter__(self) -> Iterator[Option]:
        return iter(self._options.values())

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """`given`, if every key is known and every value has its type (a bool is no int); ints serve as floats."""
        found: dict[str, Any] = {}
        for name, value in given.items():
            option = self[name]
            if option.keys and value is not None:
                _check_keys(option, value)
            fits = isinstance(value, option.type) and isinstance(value, bool) == (option.type is bool)
            if option.type is float and isinstance(value, int) and not isinstance(value, bool):
                value, fits = float(value), True
            if option.type is object or value is None or fits:
                found[name] = value
                continue
            raise fail(
                "config-type",
                f"the setting {name!r} takes {option.type.__name__}, got {type(value).__name__} {value!r}",
                help=option.doc or None,
                kind=AttributeError,
            )
        return found


def _check_keys(option: Option, value: Any) -> None:
    """The value of an option that is a dict of options: an error if it is none, or has others."""
    help = f"it is a dict of {', '.join(option.keys)}"
    if not isinstance(value, Mapping):
        raise fail("config-type", f"the setting {option.name!r} got {value!r}", help=help, kind=AttributeError)
    for name in value:
        if name not in option.keys:
            raise fail("config-unknown", f"{option.name} has no option {name!r}", help=help, kind=AttributeError)
