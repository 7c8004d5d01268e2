"""Operators that compute on strings: calls of functions of the VM, which finds them by their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import TensorInfo
from baton._src.values.dtype import BOOL, INT64, DataType
from baton._src.values.meaning import STRING_IDS
from baton._src.values.text_patterns import text_pattern


def _operand(node: OnnxNode, index: int = 0) -> Value:
    found = node[index]
    if found.meaning is not STRING_IDS:
        node.fail(f"input {index} has numbers, not strings", code="onnx-dtype")
    return found


def _call(node: OnnxNode, name: str, *operands: Value | int | str, results: Sequence[TensorInfo]) -> tuple[Value, ...]:
    if node.known_strings is not None:
        node.known_strings.used = True
    return node.graph.packed(f"vm.builtin.strings.{name}", *operands, results=results)


def _as_strings(value: Value) -> Value:
    value.meaning = STRING_IDS
    return value


def string_concat(node: OnnxNode) -> Value:
    a, b = _operand(node, 0), _operand(node, 1)
    alike = a.shape is not None and a.shape == b.shape
    info = a.info if alike else TensorInfo(None, INT64, -1 if min(a.rank, b.rank) < 0 else max(a.rank, b.rank))
    return _as_strings(_call(node, "join", a, b, results=[info])[0])


def regex_full_match(node: OnnxNode) -> Value:
    x, pattern = _operand(node), _checked(node, str(node.attr("pattern", "")))
    return _call(node, "match", x, pattern, results=[TensorInfo(x.shape, BOOL, x.rank)])[0]


def _checked(node: OnnxNode, pattern: str) -> str:
    try:
        text_pattern(pattern)
    except ValueError as error:
        node.fail(str(error), help="RE2's syntax is meant, without classes by name such as [[:alpha:]] or \\pL")
    return pattern


def string_split(node: OnnxNode) -> Sequence[Value]:
    x, limit = _operand(node), int(node.attr("maxsplit", -1))
    if "maxsplit" in node.attributes and limit < 0:
        node.fail(f"maxsplit is {limit}", help="it takes 0 or more, or leave it out")
    parts, counts = _longer_by_one(x), TensorInfo(x.shape, INT64, x.rank)
    found, number = _call(node, "split", x, str(node.attr("delimiter", "")), limit, results=[parts, counts])
    return _as_strings(found), number


def _longer_by_one(x: Value) -> TensorInfo:
    """Strings of one more axis, whose size a run tells."""
    return TensorInfo(None, INT64, x.rank + 1 if x.rank >= 0 else -1)


def string_normalizer(node: OnnxNode) -> Value:
    x, case = _operand(node), str(node.attr("case_change_action", "NONE"))
    if case not in ("LOWER", "UPPER", "NONE"):
        node.fail(f"case_change_action is {case!r}", help="it takes one of LOWER, UPPER, NONE")
    left_out = node.strings(node.attr("stopwords") or [])
    by_case = int(node.attr("is_case_sensitive", 0))
    info = TensorInfo(None, INT64, x.rank)
    return _as_strings(_call(node, "normalize", x, left_out, case, by_case, results=[info])[0])


def tokenizer(node: OnnxNode) -> Value:
    """com.microsoft's: words are what an expression matches, or what stands between separators."""
    x, shortest = _operand(node), int(node.attr("mincharnum", 1))
    separators, pattern = [str(s) for s in node.attr("separators") or []], str(node.attr("tokenexp", ""))
    if bool(separators) == bool(pattern):
        node.fail("it takes either separators or tokenexp")
    if "|" in pattern or "?" in pattern:
        node.fail(
            f"tokenexp {pattern!r} has alternatives, of which the longest is meant; that is not supported",
            help="write it with classes, such as [a-zA-Z0-9_]+",
        )
    if shortest < 1:
        node.fail(f"mincharnum is {shortest}", help="it takes 1 or more")
    if "" in separators:
        if shortest > 1 or len(separators) > 1:
            node.fail("the separator '' makes words of one character: it takes no other one, and a mincharnum of 1")
        separators, pattern = [], "(?s)."
    for expression in [*separators, pattern]:
        _checked(node, expression)
    filler, marked = str(node.needed("pad_value")), int(node.needed("mark"))
    cuts, info = node.strings(separators), _longer_by_one(x)
    return _as_strings(_call(node, "words", x, cuts, pattern, shortest, filler, marked, results=[info])[0])


def parsed(node: OnnxNode, dtype: DataType) -> Value:
    """The numbers that strings say."""
    x = _operand(node)
    return _call(node, "parse", x, str(dtype), results=[TensorInfo(x.shape, dtype, x.rank)])[0]


def shown(node: OnnxNode) -> Value:
    """Numbers as strings."""
    x = node[0]
    return _as_strings(_call(node, "show", x, results=[TensorInfo(x.shape, INT64, x.rank)])[0])


STRINGS: dict[str, Converter] = {
    "RegexFullMatch": regex_full_match,
    "StringConcat": string_concat,
    "StringNormalizer": string_normalizer,
    "StringSplit": string_split,
}
TOKENS: dict[str, Converter] = {"Tokenizer": tokenizer}
"""Of com.microsoft."""
