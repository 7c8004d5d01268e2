"""Where the parser stands: the token stream, what was complained about, and how to go on after a fault."""

from __future__ import annotations

from baton._src.relay.text.lexer import Kind, Text, Token, tokenize
from baton._src.support.diagnostics import Diagnostic
from baton._src.support.spans import Span

MAX_ERRORS = 20
_SIGN, _NAME, _END = Kind.SIGN, Kind.NAME, Kind.END  # members of an Enum take a while to look up
TOP_LEVEL = ("def", "type", "data", "extern")


class SyntaxFault(Exception):
    """The text cannot be read from here on; it is recorded already. The nearest definition catches it."""


class Cursor:
    """A position in the tokens of a text."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.tokens, self.errors = tokenize(text)
        self.index = 0
        self.token = self.tokens[0]
        self.line_ends = False
        """Inside a graph binding and outside brackets: the expression ends with its line (contradictions B-12)."""

    # ---- moving

    def next(self) -> Token:
        """The current token; go to the one after."""
        found = self.token
        if found[0] is not _END:
            self.index += 1
            self.token = self.tokens[self.index]
        return found

    def peek(self) -> Token:
        """The token after the current one."""
        return self.tokens[min(self.index + 1, len(self.tokens) - 1)]

    def back_to(self, index: int) -> None:
        self.index = index
        self.token = self.tokens[index]

    def at(self, text: str) -> bool:
        """Whether the current token is this sign or word."""
        kind, found, _, _, _ = self.token
        return found == text and (kind is _SIGN or kind is _NAME)

    def accept(self, text: str) -> bool:
        """Go past this sign or word if it is here."""
        kind, found, _, _, _ = self.token
        if found == text and (kind is _SIGN or kind is _NAME):
            self.index += 1
            self.token = self.tokens[self.index]
            return True
        return False

    def expect(self, text: str, where: str) -> Token:
        if not self.at(text):
            raise self.unexpected(f"{text!r} {where}")
        return self.next()

    def expect_kind(self, kind: Kind, where: str) -> Token:
        if self.token.kind is not kind:
            raise self.unexpected(f"{kind.value} {where}")
        return self.next()

    # ---- places

    def span(self, start: int) -> Span:
        """From the offset `start` to the end of the token before the current one."""
        stop = self.tokens[self.index - 1].stop if self.index else start
        return self.text.span(start, max(stop, start))

    def span_of(self, token: Token) -> Span:
        return self.text.span(token.start, max(token.stop, token.start + 1))

    # ---- faults

    def error(self, message: str, span: Span, help: str | None = None, code: str = "relay-parse") -> None:
        """Record a fault that reading can go on after."""
        self.errors.append(Diagnostic(code, message, span=span, help=help))

    def fault(self, message: str, token: Token, help: str | None = None) -> SyntaxFault:
        """Record a fault that reading cannot go on after, to be raised."""
        self.error(message, self.span_of(token), help)
        return SyntaxFault()

    def unexpected(self, wanted: str) -> SyntaxFault:
        token = self.token
        shown = repr(token.text) if token.kind not in (Kind.END, Kind.METADATA) else token.kind.value
        return self.fault(f"expected {wanted}, found {shown}", token)

    def skip_to_definition(self) -> None:
        """After a fault: go to the next definition, or to the end."""
        while self.token.kind not in (Kind.END, Kind.METADATA):
            if self.token.first and self.token.kind is Kind.NAME and self.token.text in TOP_LEVEL:
                return
            self.next()

    def skip_braces(self) -> None:
        """Go past a body in braces without reading it (the current token comes before it, and perhaps more braces in
        parentheses)."""
        depth, parentheses, index = 0, 0, self.index
        for index in range(self.index, len(self.tokens)):
            kind, text, _, _, first = self.tokens[index]
            if kind is _SIGN:
                parentheses += (text == "(") - (text == ")")
                if parentheses > 0 and depth == 0:
                    continue
                depth += (text == "{") - (text == "}")
                if depth == 0 and text == "}":
                    index += 1
                    break
            elif first and ((depth == 0 and kind is _NAME and text in TOP_LEVEL) or kind in (Kind.END, Kind.METADATA)):
                break
        self.back_to(index)
