"""The text of a C file as it is written: `CFile` collects what its functions need, `Lines` is one function's body."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from baton._src.codegen.c.helpers import FORMATS, helper_text
from baton._src.runtime.native.c_names import identifier, is_taken

_HEADERS = """#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
"""
_PREAMBLE = """
#ifndef TVM_DLL
#if defined(_WIN32)
#define TVM_DLL __declspec(dllexport)
#elif defined(__GNUC__)
#define TVM_DLL __attribute__((visibility("default")))
#else
#define TVM_DLL
#endif
#endif
/* Work buffers that are too large for the stack; -DBATON_MALLOC=... gives other memory. */
#ifndef BATON_MALLOC
#define BATON_MALLOC(bytes) malloc(bytes)
#define BATON_FREE(memory) free(memory)
#endif
#ifdef __cplusplus
#define BATON_RESTRICT __restrict
extern "C" {
#else
#define BATON_RESTRICT restrict
#endif
#if defined(__GNUC__)
#define BATON_ALIGN(bytes) __attribute__((aligned(bytes)))
#define BATON_WEAK __attribute__((weak))
#else
#define BATON_ALIGN(bytes)
#define BATON_WEAK
#endif
"""
_LAST_ERROR = """
/* Whoever loads this file puts a function here that is told of errors (TVM's runtimes do); files may share it. */
TVM_DLL BATON_WEAK void (*__TVMAPISetLastError)(const char* message) = NULL;
"""
_END = """
#ifdef __cplusplus
}
#endif
"""
_OF_FUNCTIONS = frozenset(["args", "codes", "count", "result", "code", "resource", "values", "returned"])
"""The names in functions that are called from outside."""


_CONSTANT = re.compile(r"\s*(?:const \w+|\w+\* const) (\w+) = .*;$")
_ARRAY = re.compile(r"(\s*)\w+ (\w+)\[\d+\];$")
_STORE = re.compile(r"\s*(\w+)\[[^=]*\] = ")


def string(text: str) -> str:
    """A string literal."""
    escaped = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in text.encode()
    )
    return f'"{escaped}"'


class CFile:
    """One file: prototypes, constants, the helpers that are used, functions in order."""

    def __init__(self) -> None:
        self._helpers: dict[str, str] = {}
        self._constants: dict[str, str] = {}
        self.prototypes: dict[str, str] = {}
        self.parameters: dict[str, list[str]] = {}
        """The types of the parameters of functions."""
        self.imported: dict[str, None] = {}
        """C that kernels bring along."""
        self.functions: list[str] = []

    def helper(self, name: str) -> str:
        """The helper function called `name`, which becomes part of the file."""
        if name not in self._helpers:
            text, needs = helper_text(name)
            for other in needs:
                self.helper(other)
            self._helpers[name] = text
        return f"baton_{name}"

    def small_format(self, name: str) -> str:
        """The description of a small float's format."""
        return self._constant(f"baton_{name}", f"const int16_t baton_{name}[] = {{{FORMATS[name]}}}")

    def memory(self, content: bytes) -> str:
        """Read-only bytes, aligned for every type."""
        place = f"baton_constant_{len(self._constants)}"
        words = [str(byte) for byte in content] or ["0"]
        rows = ",\n  ".join(",".join(words[start : start + 32]) for start in range(0, len(words), 32))
        return self._constant(place, f"const uint8_t {place}[] BATON_ALIGN(64) = {{\n  {rows}}}")

    def _constant(self, name: str, text: str) -> str:
        self._constants.setdefault(name, f"static {text};")
        return name

    def declare(self, name: str, prototype: str) -> None:
        """Say what a function of other files takes, unless a header or what kernels bring along does."""
        if not is_taken(name) and not any(re.search(rf"\b{name}\s*\(", text) for text in self.imported):
            self.prototypes.setdefault(name, prototype)

    def render(self, title: str) -> str:
        """The whole file."""
        parts = [f"/* {title} */", _HEADERS + _PREAMBLE + (_LAST_ERROR if "fault" in self._helpers else "")]
        parts += [*self.imported, *self._helpers.values(), *self._constants.values()]
        if self.prototypes:
            parts.append("\n".join(self.prototypes.values()))
        parts += [*self.functions, _END]
        return "\n\n".join(part.strip("\n") for part in parts) + "\n"


class Lines:
    """The lines of one function, and the names in it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self._taken: set[str] = set()

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def name(self, hint: str) -> str:
        """A name that nothing else in the function has."""
        base = identifier(hint)
        if base in _OF_FUNCTIONS or is_taken(base):
            base = f"v_{base}"
        found, number = base, 0
        while found in self._taken:
            number += 1
            found = f"{base}_{number}"
        self._taken.add(found)
        return found

    def finished(self) -> list[str]:
        """The lines without constants that nothing reads; arrays that nothing reads are said to be so."""
        lines, count = self.lines, -1
        while count != len(lines):
            count = len(lines)
            words = Counter(word for line in lines for word in re.findall(r"\w+", line))
            lines = [line for line in lines if (found := _CONSTANT.match(line)) is None or words[found[1]] > 1]
        stores = Counter(found[1] for line in lines if (found := _STORE.match(line)) is not None)
        for place, line in enumerate(lines):
            found = _ARRAY.match(line)
            if found is not None and words[found[2]] == stores[found[2]] + 1:
                lines[place] = f"{line}\n{found[1]}(void){found[2]};"
        return lines

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """What is written inside is between braces."""
        self.line(f"{head} {{" if head else "{")
        self.depth += 1
        yield
        self.depth -= 1
        self.line("}")

    @contextmanager
    def apart(self, depth: int = 0) -> Iterator[list[str]]:
        """What is written inside, as a list instead."""
        outer, self.lines, self.depth = self.lines, [], self.depth + depth
        yield self.lines
        self.lines, self.depth = outer, self.depth - depth
