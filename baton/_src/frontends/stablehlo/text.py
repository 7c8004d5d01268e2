"""StableHLO's text as functions of operations.

Operations are read alike, whatever order their parts have: operands (`%x`), attributes (`dims = [1]`), types behind the
colon, and regions in braces. What a part means is left to the converters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from baton._src.frontends.stablehlo.literals import dense, tensor_type
from baton._src.ir.tensor_info import TensorInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r]+|//[^\n]*)|(?P<line>\n)|(?P<string>"(?:\\.|[^"\\])*")|(?P<value>%[\w$.-]+(?:\#\d+)?)
    |(?P<symbol>@[\w$.-]+|@"[^"]*")|(?P<block>\^\w+)|(?P<type>!?\w+(?:\.\w+)*<[^<>]*(?:<[^<>]*>[^<>]*)*>)
    |(?P<hash>\#[\w.]+)|(?P<number>-?0x[0-9A-Fa-f]+|-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)
    |(?P<word>[A-Za-z_][\w.$]*)|(?P<arrow>->)|(?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
_CONTINUES = ("reducer", "cond", "do", "else")
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


@dataclass
class Region:
    """A list of operations, of which the last returns; `params` are bound to operands, of `types`."""

    params: list[str] = field(default_factory=list)
    types: list[TensorInfo] = field(default_factory=list)
    body: list[Operation] = field(default_factory=list)


@dataclass
class Operation:
    """`results = name operands attributes : types regions`; `line` is its line in the text."""

    name: str
    line: int
    results: list[str] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    """What stands alone: `GT`, `applies`, names of functions with their `@`."""
    types: list[TensorInfo] = field(default_factory=list)
    """The types of the results; those of the operands if it has none."""
    regions: list[Region] = field(default_factory=list)
    params: list[list[str]] = field(default_factory=list)
    """Groups of parameters of its regions that are written before these."""


def read_functions(text: str) -> Mapping[str, Region]:
    """The functions of a module by name, without `@`. Error `stablehlo-text`: this is no text of StableHLO."""
    reader = _Reader(text)
    found: dict[str, Region] = {}
    while not reader.at_end:
        if reader.word() == "func.func":
            name, region = reader.function()
            found[name] = region
        elif reader.word() == '"func.func"':
            operation = reader.operation()
            found[operation.attrs["sym_name"]] = operation.regions[0]
        else:
            reader.next()
    if "main" not in found:
        help = "it is what jax.jit(f).lower(x).as_text() gives"
        raise fail("stablehlo-text", "the text has no function @main", help=help)
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str, int]] = []
        line = 1
        for match in _TOKEN.finditer(text):
            kind = str(match.lastgroup)
            if kind != "skip":
                self.tokens.append((kind, match[0], line))
            line += match[0].count("\n")
        self.tokens.append(("end", "", line))
        self.place = 0

    # ------------------------------------------------------------------------------------------------- tokens

    @property
    def at_end(self) -> bool:
        return self.kind() == "end"

    def kind(self) -> str:
        return self.tokens[self.place][0]

    def word(self) -> str:
        return self.tokens[self.place][1]

    def next(self) -> str:
        found = self.word()
        if self.at_end:
            raise fail("stablehlo-text", "the text ends within an operation")
        self.place += 1
        return found

    def lines(self) -> None:
        while self.kind() == "line":
            self.place += 1

    def take(self, *wanted: str) -> bool:
        """Go past these tokens if they come next."""
        coming = [t[1] for t in self.tokens[self.place : self.place + len(wanted)]]
        if coming != list(wanted):
            return False
        self.place += len(wanted)
        return True

    def expect(self, wanted: str) -> None:
        self.lines()
        if not self.take(wanted):
            line = self.tokens[self.place][2]
            raise fail("stablehlo-text", f"line {line}: {wanted!r} is expected, found {self.word()!r}")

    def skip_group(self) -> None:
        """Go past a bracket and all within it."""
        closing = [_CLOSING[self.next()]]
        while closing:
            token = self.next()
            if token in _CLOSING:
                closing.append(_CLOSING[token])
            elif token == closing[-1]:
                closing.pop()

    # ---------------------------------------------------------------------------------------------- structure

    def function(self) -> tuple[str, Region]:
        """`func.func public @name(%a: type) -> type { ... }`."""
        while self.kind() != "symbol":
            self.next()
        name = self.next()[1:].strip('"')
        region = Region()
        self._params(region)
        while not (self.word() == "{" and self.tokens[self.place - 1][1] != "attributes"):
            self.skip_group() if self.word() in ("(", "{") else self.next()
        self._body(region)
        return name, region

    def _params(self, region: Region) -> None:
        """`(%a: type {...}, %b: type)`."""
        self.expect("(")
        while not self.take(")"):
            if self.kind() == "value":
                region.params.append(self.next())
            elif self.kind() == "type":
                region.types.append(tensor_type(self.next()))
            elif self.word() in ("{", "("):
                self.skip_group()
            else:
                self.next()

    def _body(self, region: Region) -> None:
        """Operations in braces, perhaps behind `^bb0(...):`."""
        self.expect("{")
        self.lines()
        if self.kind() == "block":
            self.next()
            if self.word() == "(":
                self._params(region)
            self.expect(":")
        while True:
            self.lines()
            if self.take("}"):
                return
            region.body.append(self.operation())

    def operation(self) -> Operation:
        made = Operation("", self.tokens[self.place][2])
        while self.kind() == "value":
            name = self.next()
            count = int(self.next()) if self.take(":") else 0
            made.results += [f"{name}#{k}" for k in range(count)] or [name]
            self.take(",")
        self.take("=")
        made.name = self.next().strip('"')
        while not self._ends():
            self._part(made)
        if "init" in made.words:  # reduce(%a init: %b), (%c init: %d) takes a, c, b, d
            made.operands = made.operands[::2] + made.operands[1::2]
        return made

    def _ends(self) -> bool:
        """Whether the operation is over: at the end of its line, unless a region follows."""
        if self.kind() != "line":
            return self.at_end or self.word() == "}"
        start = self.place
        self.lines()
        if self.word() in _CONTINUES:
            return False
        self.place = start
        return True

    def _part(self, made: Operation) -> None:
        kind, word = self.kind(), self.word()
        if kind == "value":
            made.operands.append(self.next())
        elif word == "(":
            self._parentheses(made)
        elif word == "<" or (word == "{" and self._is_dict()):
            self.next()
            if word == "<":
                self.expect("{")
            made.attrs |= self._entries("}")
            if word == "<":
                self.expect(">")
        elif word == "{":
            self._region(made)
        elif word == "[":
            made.attrs[""] = self.value()
        elif word == ":":
            self.next()
            self._types(made)
        elif kind == "type" and word.startswith("dense"):
            made.attrs["value"] = self.next()
        elif word == "loc" and self.tokens[self.place + 1][1] == "(":
            self.next()
            self.skip_group()
        elif kind == "word" and self.tokens[self.place + 1][1] == "=":
            self.next()
            self.next()
            made.attrs[word] = self.value()
        else:
            made.words.append(self.next())

    def _is_dict(self) -> bool:
        first = self.place + 1
        return self.tokens[first][0] in ("word", "string") and self.tokens[first + 1][1] == "="

    def _region(self, made: Operation) -> None:
        """`reducer(%a, %b) (%c, %d) {` has the parameters a, c, b, d; both regions of a loop have those of the loop."""
        region = Region([name for position in zip(*made.params, strict=True) for name in position])
        self._body(region)
        made.regions.append(region)

    def _parentheses(self, made: Operation) -> None:
        """Operands, regions, or parameters of regions that follow."""
        if self.tokens[self.place + 1][1] == "{":
            self.next()
            while not self.take(")"):
                self._region(made)
                self.take(",")
        elif "reducer" in made.words:
            region = Region()
            self._params(region)
            made.params.append(region.params)
        else:
            self.next()
            while not self.take(")"):
                self._operand(made)

    def _operand(self, made: Operation) -> None:
        """`%a`, `%a init: %b`, `%parameter = %a` of loops, or an attribute."""
        kind, token = self.kind(), self.next()
        if kind == "value" and self.take("="):
            made.params.append([token])
        elif kind == "value":
            made.operands.append(token)
        elif kind == "word" and self.take("="):
            made.attrs[token] = self.value()
        elif kind == "word":
            made.words.append(token)

    def _types(self, made: Operation) -> None:
        """`type, type`, or `(types) -> types`: of the results, where they are told apart."""
        first = self._some_types()
        made.types = self._some_types() if self.take("->") else first

    def _some_types(self) -> list[TensorInfo]:
        found = []
        in_group = self.take("(")
        while True:
            if self.kind() == "type":
                found.append(tensor_type(self.next()))
            elif in_group and self.word() == "{":
                self.skip_group()
            elif self.kind() != "type" and not self.take(","):
                break
        if in_group:
            self.expect(")")
        return found

    # ------------------------------------------------------------------------------------------------- values

    def _entries(self, closing: str) -> dict[str, Any]:
        """`name = value, ...` up to the closing bracket."""
        found = {}
        self.lines()
        while not self.take(closing):
            name = self.next().strip('"')
            found[name] = self._typed() if self.take("=") else True
            self.take(",")
            self.lines()
        return found

    def value(self) -> Any:
        """An attribute: a number, word, string, list, record, or several lists in a row (`[1] x [0]`)."""
        row = [self._one_value()]
        while self.word() in ("x", "->") and self.tokens[self.place + 1][1] == "[":
            self.next()
            row.append(self._one_value())
        return row[0] if len(row) == 1 else row

    def _typed(self) -> Any:
        """A value within braces, perhaps with its type."""
        found = self.value()
        if not self.take(":"):
            return found
        kind = self.next()
        return dense(found, tensor_type(kind)) if isinstance(found, str) and found.startswith("dense<") else found

    def _one_value(self) -> Any:
        kind, token = self.kind(), self.next()
        if kind == "number":
            return self._range(_number(token))
        if token == "[":
            return self._list()
        if token == "{":
            return self._entries("}")
        if token == "(":  # the type of a function
            self.place -= 1
            self.skip_group()
            return self._some_types() if self.take("->") else None
        if kind == "hash":
            return self._record()
        if kind == "type" and token.startswith("array<"):
            return [_number(n) for n in token[:-1].partition(":")[2].replace(",", " ").split()]
        return {"true": True, "false": False}.get(token, token.strip('"'))

    def _range(self, first: Any) -> Any:
        """`1:3:2` of slices, or the number alone."""
        parts = [first]
        while self.word() == ":" and self.tokens[self.place + 1][0] == "number":
            self.next()
            parts.append(_number(self.next()))
        return first if len(parts) == 1 else tuple(parts)

    def _list(self) -> list[Any]:
        found = []
        while not self.take("]"):
            found.append(self._one_value())
            self.take(",")
        return found

    def _record(self) -> Any:
        """`#stablehlo.gather<offset_dims = [1], ...>`; of an enumeration its word."""
        if not self.take("<"):
            return None
        if self.word() == "[":
            lists = self.value()
            self.expect(">")
            return lists
        if self.tokens[self.place + 1][1] != "=":
            word = self.next()
            while not self.take(">"):
                word = self.next()
            return word
        return self._entries(">")


def _number(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    return int(text, 16) if "0x" in text else float(text) if any(c in text for c in ".eE") else int(text)
