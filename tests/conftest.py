"""What every test can use: the `rule` marker, and `golden` texts that `--update` rewrites."""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from baton._src.ir.cpu import host_cpu
from baton._src.support.diagnostics import DiagnosticError
from tests.at_length import SEED, TIMES
from tests.longest_first import longest_first
from tests.same_draws import draw_the_same_everywhere

pytest_plugins = ["tests.conformance.plugin"]

# Tests compile what they say they compile, and some of them with parts of the compiler replaced.
os.environ["BATON_CACHE_PROGRAMS"] = "0"

# `make test` draws the same programs every time, so that a failure is the change's; `make fuzz` draws others.
# Neither judges by the clock: how long an example takes says more about the machine's other work than about it.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", _UNTIMED, derandomize=True)
settings.register_profile("other", _UNTIMED)
if os.environ.get("FUZZ"):
    settings.load_profile("other")
else:
    settings.load_profile("same")
    draw_the_same_everywhere()

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden"

# A failed assertion of a helper says what it compared, as one of a test does.
pytest.register_assert_rewrite(*(f"tests.{folder.name}" for folder in TESTS.iterdir() if folder.is_dir()))

NEED_TORCH = ("frontends/torch", "docs/test_torch_page.py")
HAS_TORCH = importlib.util.find_spec("torch") is not None
collect_ignore = [] if HAS_TORCH else list(NEED_TORCH)


def pytest_report_header() -> list[str]:
    left_out = f"not installed, so {', '.join(NEED_TORCH)} are left out (make test-torch)"
    lines = [f"PyTorch: {'installed' if HAS_TORCH else left_out}"]
    return [*lines, f"fuzz: TIMES={TIMES:g} SEED={SEED}"] if os.environ.get("FUZZ") else lines


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = longest_first(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Many tests compile for x86 processors by name and run that: elsewhere they are skipped, with this reason."""
    try:
        return (yield)
    except DiagnosticError as error:
        if error.code == "target-cpu" and host_cpu().arch != "x86_64":
            pytest.skip(str(error).splitlines()[0])
        raise


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the golden texts with what the tests produce")


class Golden:
    """Compares text with the file kept for this test: tests/golden/<path of the test module>/<test name>.txt."""

    def __init__(self, stem: Path, update: bool) -> None:
        self._stem = stem
        self._update = update

    def check(self, text: str, name: str = "", suffix: str = ".txt") -> None:
        """Fail unless `text` is the golden text; with --update, make it so.

        `name` tells several texts of one test apart; `suffix` says what kind of text it is.
        """
        __tracebackhide__ = True
        path = self._stem.with_name(self._stem.name + (f".{name}" if name else "") + suffix)
        text = text.rstrip("\n") + "\n"
        expected = path.read_text(encoding="utf-8") if path.is_file() else None
        if text == expected:
            return
        shown = path.relative_to(TESTS.parent)
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif expected is None:
            pytest.fail(f"{shown} does not exist; run pytest with --update to write it. Text:\n{text}", pytrace=False)
        else:
            lines = difflib.unified_diff(
                expected.splitlines(), text.splitlines(), f"{shown} (golden)", "produced", lineterm=""
            )
            difference = "\n".join(lines)
            pytest.fail(f"{difference}\nIf the new text is right, run pytest with --update.", pytrace=False)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """The golden text of the running test."""
    module = Path(request.node.path).relative_to(TESTS).with_suffix("")
    name = re.sub(r"[^\w.=-]+", "_", request.node.name).strip("_")
    return Golden(GOLDEN / module / name, request.config.getoption("--update"))
