"""Whatever a text holds, reading it gives a module or diagnostics, and never anything else."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from baton import relay
from baton._src.driver.relay.executable import optimized
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.lower.relay_to_relax.module import lower
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.text.attribute_reader import MAX_LITERAL
from baton._src.relay.text.parser import parse
from baton._src.relay.text.sequence_reader import MAX_NESTING
from baton._src.support.diagnostics import DiagnosticError
from tests.at_length import at_length
from tests.relay.programs import error_of, read_module
from tests.relay.text.hostile import mutated, noise, soups

wire()


def survive(text: str) -> None:
    """Read it, print it, and lower it; each step succeeds or gives a diagnostic, reading one that says where."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        faults = None
        try:
            module = parse(text, CATALOGUE)
        except DiagnosticError as error:
            faults = error
        if faults is not None:
            assert all(found.span is not None for found in faults.diagnostics), str(faults)
            return
        if module.functions or module.type_definitions:
            assert isinstance(parse(module.astext(), CATALOGUE), IRModule)
        if "main" in module:
            with contextlib.suppress(DiagnosticError):
                lower(optimized(module))


def examples(count: int) -> settings:
    return settings(max_examples=count, suppress_health_check=list(HealthCheck))


@given(mutated())
@example("def @main(%c: int32) { let %r = ref(%c); -(%r, 1) }")  # a literal without a type inside of a tuple
@examples(200)
def test_changed_programs(text: str) -> None:
    survive(text)


@given(st.one_of(soups, noise))
@examples(150)
def test_no_programs(text: str) -> None:
    survive(text)


@pytest.mark.fuzz
@given(st.one_of(mutated(), soups, noise))
@examples(at_length(50_000))
def test_at_length(text: str) -> None:
    survive(text)


VALUES = (
    *(
        "1",
        "0",
        "-1",
        "99",
        "9999999999999",
        "1.5f",
        "None",
        "True",
        '""',
        '"NCHW"',
        '"float32"',
        "[]",
        "[1]",
        "[1, 1]",
    ),
    *("[0, 0]", "[-1, -1]", "[1, 2, 3]", "[1, 1, 1, 1]", "[[1, 2], [3, 4]]", '["a"]', "[1.5f]"),
)
ARGUMENTS = ("%a", "%b", "%c", "%d", "%e", "(%a, %a)", "(%b, %c)", "1f", "3")
HEAD = (
    "def @main(%a: Tensor[(2, 3), float32], %b: Tensor[(1, 3, 8, 8), float32], %c: Tensor[(4, 3, 3, 3), float32], "
    "%d: Tensor[(3), int32], %e: Tensor[(?, 3), int64]) "
)


@st.composite
def calls(draw: st.DrawFn) -> str:
    """A call of any operator of baton's own with arguments and attributes of any kind.

    What other tests of the process have registered may fail as their authors please.
    """
    name = draw(st.sampled_from([n for n in CATALOGUE.relay_names() if not CATALOGUE.is_registered(n)]))
    definition = CATALOGUE.relay(name).definition
    count = sum("relay" in operand.languages for operand in definition.inputs)
    args = [draw(st.sampled_from(ARGUMENTS)) for _ in range(max(0, count + draw(st.sampled_from([0, 0, 0, 1, -1]))))]
    named = [f"{n}={draw(st.sampled_from(VALUES))}" for n in definition.attrs.names if draw(st.booleans())]
    return f"{HEAD}{{ {name}({', '.join(args + named)}) }}"


@given(calls())
@example(f"{HEAD}{{ clip(%d) }}")  # the bounds are missing
@example(f"{HEAD}{{ qnn.abs(%a, %a, %a, (%a, %a), 3) }}")  # a tuple beside a literal
@examples(250)
def test_calls_of_anything(text: str) -> None:
    """Texts for axes, lists for numbers, sizes of nothing: `op-attribute` and its kin."""
    survive(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("(" * (MAX_NESTING + 10) + "1", "nested more than"),
        ("fn(%x: " + "(" * 200 + "int32", "types nested more than"),
        ("match (1) { " + "(" * 300 + "_", "patterns nested more than"),
        (f"Constant(0, ({MAX_LITERAL + 1}), int8)", "not too large"),
        ("1" * 30, "does not fit"),
        ("nanf641", "no dtype float641\n  -->"),
        (f"fn(%x: Tensor[({2**63}), int8]) {{ %x }}", "too large\n  -->"),
        ("reshape(1, newshape=" + "[" * 500 + "]" * 500 + ")", "nested more than"),
        ("/*" * 50_000, "comment"),
        ('"' + "a" * 100_000, "string"),
    ],
)
def test_bounds(text: str, says: str) -> None:
    """Depth of expressions, types, patterns and attributes; size of literals; what never ends."""
    assert says in str(error_of(lambda: read_module(text)))


def test_size_of_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baton._src.relay.text.parser.MAX_TEXT", 1000)
    assert "more than the limit of 1000" in str(error_of(lambda: relay.parse(" " * 1001)))


def test_division_of_constants_by_zero() -> None:
    """Found by random text: folding `0 / 0` ended in Python's error. It is zero, as in kernels."""
    for text in ("def @main() { 0 / 0 }", "def @main() { mod(7, 0) }"):
        for kind in ("debug", "vm"):
            assert isinstance(int(relay.create_executor(kind, read_module(text)).evaluate()().numpy()), int)
