"""`PassContext`: how passes are run (opt level, which ones are required or disabled, instruments, settings)."""

from __future__ import annotations

import operator
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Self, SupportsIndex

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.options import Options
from baton._src.transform.settings import CONFIG


@dataclass(frozen=True, slots=True)
class PassInfo:
    """Facts about a pass. A Sequential runs it from `opt_level` up, with each pass in `required` before it."""

    opt_level: int
    name: str
    required: tuple[str, ...] = ()
    traceable: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "required", tuple(self.required or ()))

    def __str__(self) -> str:
        """The text that TVM prints."""
        required = ", ".join(self.required)
        about = f"pass name: {self.name}, opt_level: {self.opt_level}, required passes: [{required}]"
        return f"The meta data of the pass - {about}"


_FOR_TUNING = frozenset({"trace", "trace_stack", "make_traceable", "num_evals", "tuning_api_database"})


class _Stack(threading.local):
    """The contexts entered by this thread, and the default one if there are none."""

    def __init__(self) -> None:
        self.entered: list[PassContext] = []
        self.default = PassContext()
        self.asked: set[str] = set()
        """Names of passes that contexts were asked about, and names warned of, since the outermost was entered."""


class PassContext:
    """Entered with `with`; contexts nest, each thread has its own.

    A pass of a Sequential is enabled if it is not in `disabled_pass`, and is in `required_pass` or has an opt level of
    at most `opt_level`. `config` keys are those of `transform.settings`, others raise `DiagnosticError`.
    """

    options: ClassVar[Options] = CONFIG
    """All known settings; extended when users register their own."""
    unknown: ClassVar[Callable[[str], str | None] | None] = None
    """None for the name of a pass, else the name that was probably meant, or ""; bound by `driver.wiring`."""

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Iterable[str] | None = None,
        disabled_pass: Iterable[str] | None = None,
        instruments: Sequence[Any] | None = None,
        config: Mapping[str, Any] | None = None,
        **tuning: Any,
    ) -> None:
        """`tuning` takes the options that TVM's contexts have for its tuner (`trace=None`, ...); they are not used."""
        for name, given in tuning.items():
            if name not in _FOR_TUNING:
                raise TypeError(f"PassContext has no option {name!r}")
            if given:
                raise fail("api", f"{name}={given!r}: passes are not traced for tuning", help=f"leave {name} out")
        if config is not None and not isinstance(config, Mapping):
            raise TypeError(f"config must be a dict of settings by name, got {type(config).__name__}")
        if not isinstance(opt_level, SupportsIndex):
            raise fail("api", f"opt_level must be an integer, got {opt_level!r}", help="0 to 4; 3 is usual")
        self.opt_level = operator.index(opt_level)
        self.required_pass = _names("required_pass", required_pass)
        self.disabled_pass = _names("disabled_pass", disabled_pass)
        self.instruments: list[Any] = list(instruments or ())
        self.config = self.options.checked(config or {})
        self.pending: list[tuple[Any, ...]] = []
        """What Sequentials that are running have still to do, outermost first (for reproducers)."""

    @staticmethod
    def current() -> PassContext:
        """The innermost context this thread has entered, or a default one."""
        return _stack.entered[-1] if _stack.entered else _stack.default

    @classmethod
    def list_configs(cls) -> dict[str, dict[str, Any]]:
        """The settings there are, with their types and defaults."""
        table = ((o.name, o) for o in cls.options)
        return {name: {"type": o.type.__name__, "default": o.default, "doc": o.doc} for name, o in table}

    def __str__(self) -> str:
        """The options that were set, one a line."""
        shown = {
            "opt_level": self.opt_level,
            "required passes": list(self.required_pass),
            "disabled passes": list(self.disabled_pass),
            "instruments": self.instruments,
            "config": dict(self.config),
        }
        return "Pass context information:\n" + "".join(f"\t{name}: {found}\n" for name, found in shown.items())

    def setting(self, name: str) -> Any:
        """The value of a setting, or its default."""
        option = self.options[name]
        found = self.config.get(name)
        return option.default if found is None else found

    def pass_enabled(self, info: PassInfo) -> bool:
        """Whether a Sequential runs the pass: disabled wins, then required, then the opt level."""
        _stack.asked.add(info.name)
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    def __enter__(self) -> Self:
        _stack.entered.append(self)
        try:
            self._enter_instruments()
        except BaseException:
            _stack.entered.pop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._exit_instruments()
            if error is None:
                self._warn_of_names()
        finally:
            _stack.entered.pop()
            if not _stack.entered:
                _stack.asked.clear()

    def _warn_of_names(self) -> None:
        """Warn of names that no pass has: known at the end only, since passes of scripts have any name."""
        ask = PassContext.unknown
        for option, names in (("required_pass", self.required_pass), ("disabled_pass", self.disabled_pass)):
            for name in names:
                near = None if name in _stack.asked or ask is None else ask(name)
                if near is not None:
                    _stack.asked.add(name)
                    meant = f"; did you mean {near!r}?" if near else ""
                    warnings.warn(f"{option} names {name!r}, but no pass is called so{meant}", stacklevel=3)

    def override_instruments(self, instruments: Sequence[Any] | None) -> None:
        """Exit the present instruments and enter `instruments` (None: none) instead."""
        self._exit_instruments()
        self.instruments = list(instruments or ())
        self._enter_instruments()

    def _enter_instruments(self) -> None:
        """If one fails, those already entered are exited and none remains."""
        entered: list[Any] = []
        try:
            for instrument in self.instruments:
                if not hasattr(instrument, "enter_pass_ctx"):
                    help = "make one with ir.instrument.pass_instrument, or of a class of ir.instrument"
                    raise fail("api", f"{instrument!r} is not an instrument", help=help)
                instrument.enter_pass_ctx()
                entered.append(instrument)
        except BaseException:
            self.instruments = []
            for instrument in entered:
                instrument.exit_pass_ctx()
            raise

    def _exit_instruments(self) -> None:
        """Call `exit_pass_ctx` of all instruments. If one fails, later ones are skipped, and all are removed."""
        try:
            for instrument in self.instruments:
                instrument.exit_pass_ctx()
        except BaseException:
            self.instruments = []
            raise

    def should_run(self, module: Any, info: PassInfo) -> bool:
        """Whether no instrument vetoes the pass; required passes cannot be vetoed."""
        _stack.asked.add(info.name)
        if info.name in self.required_pass:
            return True
        answers = [bool(i.should_run(module, info)) for i in self.instruments]  # all are called: some count
        return all(answers)

    def before_pass(self, module: Any, info: PassInfo) -> None:
        """Call the instruments' `run_before_pass`."""
        for instrument in self.instruments:
            instrument.run_before_pass(module, info)

    def after_pass(self, module: Any, info: PassInfo) -> None:
        """Tell the instruments that a pass is done."""
        for instrument in self.instruments:
            instrument.run_after_pass(module, info)


def _names(option: str, given: Iterable[Any] | None) -> tuple[str, ...]:
    """The names that an option lists. Error `api` for one name alone, and for what is no name."""
    if isinstance(given, str):
        raise fail("api", "required_pass and disabled_pass take lists of pass names, not a string")
    found = tuple(given or ())
    for name in found:
        if not isinstance(name, str):
            help = f"write {getattr(name, 'name', 'FoldConstant')!r}"
            raise fail("api", f"{option} takes names of passes, got a {type(name).__name__}", help=help)
    return found


_stack = _Stack()
