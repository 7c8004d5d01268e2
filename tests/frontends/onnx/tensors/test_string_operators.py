"""Operators that compute on strings: they join, split, match, change and read them as onnxruntime does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import baton
from tests.frontends.onnx.against_onnxruntime import onnxruntime_outputs

TEXT, FLOAT, INT, BOOL = TensorProto.STRING, TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
MICROSOFT = "com.microsoft"
LINES = ["  a b  c ", "", "a,b,,c", "ü, x y", "ab", "äbbc d"]


def strings(*given: Any) -> Any:
    return np.array(given, dtype=object)


def model_of(nodes: list[Any], kind: int, dims: tuple[Any, ...] = ("n",), outputs: tuple[str, ...] = ("y",)) -> Any:
    declared = [helper.make_tensor_value_info("x", kind, list(dims))]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(helper.make_graph(nodes, "g", declared, results), opset_imports=opsets, ir_version=9)


def node(name: str, outputs: tuple[str, ...] = ("y",), domain: str = "", **attributes: Any) -> Any:
    return helper.make_node(name, ["x"], list(outputs), name=f"/{name}", domain=domain, **attributes)


def assert_as_onnxruntime(model: Any, *given: Any) -> None:
    program = baton.compile(model, num_threads=1)
    for x in given:
        for ours, theirs in zip(program.run({"x": x}), onnxruntime_outputs(model, {"x": x}), strict=True):
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "attributes", [{}, {"delimiter": " "}, {"maxsplit": 1}, {"delimiter": ",", "maxsplit": 2}, {"maxsplit": 0}]
)
def test_splitting(attributes: Any) -> None:
    model = model_of([node("StringSplit", ("y", "z"), **attributes)], TEXT, outputs=("y", "z"))
    assert_as_onnxruntime(model, strings(*LINES), strings("a b"), strings())


PATTERNS = [
    "a.*",
    r"\d+",
    r"\w+",
    ".",
    "(?i)aB",
    "(?P<first>a)b",
    "a$",
    "a[$]?b?",
    r"[^a]",
    r"(a|ab)(c|bcd)?\$?",
    r"\\",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_matching(pattern: str) -> None:
    given = strings("ab", "AB", "12", "ä", "aa", "a\n", "\n", "a", "\u0663", "a$", "abcd", "\\")
    assert_as_onnxruntime(model_of([node("RegexFullMatch", pattern=pattern)], TEXT), given, given[:1], given[:0])


@pytest.mark.parametrize(
    "pattern", ["a(?=b)", r"(a)\1", "a*+", "[[:alpha:]]+", r"\pL", "(?i)ä", "(a", r"(?<!a)b", "a{2}+", "(?>a)"]
)
def test_patterns_that_are_read_otherwise_are_refused(pattern: str) -> None:
    with pytest.raises(baton.DiagnosticError, match=r"RegexFullMatch node '/RegexFullMatch': .* pattern") as caught:
        baton.compile(model_of([node("RegexFullMatch", pattern=pattern)], TEXT))
    assert "help: RE2's syntax is meant" in str(caught.value)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"case_change_action": "UPPER"},
        {"case_change_action": "LOWER", "stopwords": ["A", "b"]},
        {"case_change_action": "LOWER", "stopwords": ["A", "b"], "is_case_sensitive": 1},
        {"stopwords": ["a", "b", "Z"]},
    ],
)
def test_normalizing(attributes: Any) -> None:
    given = strings("a", "A", "Strange", "b", "Z", "z")
    model = model_of([node("StringNormalizer", locale="C", **attributes)], TEXT)
    assert_as_onnxruntime(model, given, given[:1], given[-2:])
    model = model_of([node("StringNormalizer", locale="C", **attributes)], TEXT, (1, "n"))
    assert_as_onnxruntime(model, given[None], given[None, :1])


def test_no_letter_becomes_two() -> None:
    program = baton.compile(model_of([node("StringNormalizer", case_change_action="UPPER")], TEXT))
    assert program.run({"x": ["straße", "ä"]})[0].tolist() == ["STRAßE", "Ä"]
    with pytest.raises(baton.DiagnosticError, match="takes strings of shape"):
        baton.compile(model_of([node("StringNormalizer")], TEXT, ("m", "n"))).run({"x": [["a"], ["b"]]})


@pytest.mark.parametrize(
    "attributes",
    [
        {"separators": [" "], "mark": 0, "mincharnum": 1},
        {"separators": [" ", ","], "mark": 1, "mincharnum": 1},
        {"separators": [""], "mark": 1, "mincharnum": 1},
        {"separators": [" ", "  ", "b+"], "mark": 0, "mincharnum": 2},
        {"tokenexp": "[a-z]+", "mark": 0, "mincharnum": 2},
        {"tokenexp": ".", "mark": 1, "mincharnum": 1},
    ],
)
def test_words(attributes: Any) -> None:
    """What scikit-learn's vectorizers become: words, and characters."""
    words = node("Tokenizer", domain=MICROSOFT, pad_value="#", **attributes)
    assert_as_onnxruntime(model_of([words], TEXT), strings(*LINES), strings("a"), strings("", ""))
    assert_as_onnxruntime(model_of([words], TEXT, ("m", "n")), strings(*LINES).reshape(2, 3))


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"separators": [" "], "tokenexp": "a"}, "either separators or tokenexp"),
        ({"tokenexp": "a|ab"}, "of which the longest is meant"),
        ({"separators": [" "], "mincharnum": 0}, "mincharnum is 0"),
        ({"separators": [""], "mincharnum": 2}, "words of one character"),
    ],
)
def test_words_that_cannot_be(attributes: Any, said: str) -> None:
    with pytest.raises(baton.DiagnosticError, match=said):
        baton.compile(model_of([node("Tokenizer", domain=MICROSOFT, pad_value="", mark=0, **attributes)], TEXT))


def test_counts_of_words(tmp_path: Path) -> None:
    """A text's way through a classifier of strings, one node after the other; compiled, saved and loaded."""
    nodes = [
        helper.make_node("StringNormalizer", ["x"], ["low"], case_change_action="LOWER", locale="C"),
        helper.make_node("Tokenizer", ["low"], ["words"], tokenexp="[a-z0-9_]+", mark=0, mincharnum=2, pad_value="",
                         domain=MICROSOFT),
        helper.make_node("TfIdfVectorizer", ["words"], ["y"], mode="TF", min_gram_length=1, max_gram_length=2,
                         max_skip_count=0, ngram_counts=[0, 2], ngram_indexes=[0, 1, 2],
                         pool_strings=["ab", "cd", "ab", "cd"]),
    ]  # fmt: skip
    model = model_of(nodes, TEXT)
    given = strings("AB cd ab", "x", "cd, ab; Ab CD")
    assert_as_onnxruntime(model, given, given[:2])
    program = baton.compile(model)
    program.save(tmp_path / "words.baton")
    again = baton.load(tmp_path / "words.baton")
    np.testing.assert_array_equal(again.run({"x": given})[0], program.run({"x": given})[0])
    assert program.profile({"x": given})


def test_joining() -> None:
    with_b = helper.make_node("Constant", [], ["b"], value_strings=["-b"])
    model = model_of([with_b, helper.make_node("StringConcat", ["x", "b"], ["y"])], TEXT, ("m", "n"))
    assert_as_onnxruntime(model, strings(["a", ""], ["ü", "a-b"]), strings(["k"]))
    with pytest.raises(baton.DiagnosticError, match="input 0 has numbers, not strings"):
        baton.compile(model_of([with_b, helper.make_node("StringConcat", ["x", "b"], ["y"])], FLOAT))


@pytest.mark.parametrize("kind", [FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, INT, TensorProto.UINT8, BOOL])
def test_numbers_in_strings(kind: int) -> None:
    said = ["1.5", "  2", "0", "-3", "100.7"]
    given = strings(*(said[1:3] if kind in (TensorProto.UINT8, BOOL) else said))
    assert_as_onnxruntime(model_of([node("Cast", to=kind)], TEXT), given, given[:1])


def test_special_numbers_in_strings() -> None:
    program = baton.compile(model_of([node("Cast", to=FLOAT)], TEXT))
    given = strings("1e-5", "INF", "-inf", "+INF", "NaN")
    np.testing.assert_array_equal(program.run({"x": given})[0], np.array([1e-5, np.inf, -np.inf, np.inf, np.nan], "f4"))
    for wrong in ("", "abc", "1.5x", "1_0"):
        with pytest.raises(baton.DiagnosticError, match=f"the string '{wrong}' is not a number of dtype float32"):
            program.run({"x": strings(wrong)})
    with pytest.raises(baton.DiagnosticError, match="the string '300' is not a number of dtype uint8"):
        baton.compile(model_of([node("Cast", to=TensorProto.UINT8)], TEXT)).run({"x": strings("300")})


@pytest.mark.parametrize(
    "given",
    [
        np.array([1.5, 1e-10, 1 / 3, 1e20, np.nan, np.inf, -np.inf, 1e8, -0.0], np.float32),
        np.array([1.5, 1 / 3, 1e300]),
        np.array([1.5, 1 / 3, 65504], np.float16),
        np.array([1, -5]),
        np.array([0, 255], np.uint8),
        np.array([True, False]),
    ],
    ids=lambda a: str(a.dtype),
)
def test_numbers_as_strings(given: Any) -> None:
    model = model_of([node("Cast", to=TEXT)], helper.np_dtype_to_tensor_dtype(given.dtype))
    assert_as_onnxruntime(model, given, given[:1])


def test_strings_that_stay_inside() -> None:
    """Neither an input nor an output has strings: a run had none to look them up in."""
    match = helper.make_node("RegexFullMatch", ["s"], ["y"], pattern="1.*")
    made = helper.make_node("Cast", ["x"], ["s"], to=TEXT)
    assert_as_onnxruntime(model_of([made, match], INT), np.array([1, 2, 13]))
    words = helper.make_node("Constant", [], ["s"], value_strings=["12", "2"])
    (found,) = baton.compile(model_of([words, match], INT), num_threads=1).run({"x": np.array([1])})
    assert found.tolist() == [True, False]


def test_strings_whose_shapes_do_not_broadcast() -> None:
    words = helper.make_node("Constant", [], ["s"], value_strings=["p", "q"])
    joined = helper.make_node("StringConcat", ["x", "s"], ["y"])
    program = baton.compile(model_of([words, joined], TEXT), num_threads=1)
    with pytest.raises(baton.DiagnosticError, match=r"shape \(3,\) cannot be joined with strings of shape \(2,\)"):
        program.run({"x": strings("a", "b", "c")})
