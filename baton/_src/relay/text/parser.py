"""Relay text to a typed module: `parse`, and `parse_expr` for one expression.

Reads seed 004's notation and version 0.0.5, the header optional (contradictions B-19); attributes of the module,
`attributes { "name" = value, ... }`, come before everything else. Definitions may come in any order: type names are
gathered first, then constructors, then functions. A fault ends its definition and reading goes on with the next one, so
a text shows several; only a text without faults is type-checked. Both are linear in the text.

    parse("def @f(%x: int32) { %x + 1 }", CATALOGUE)["f"]
    parse_expr("%a + 1", CATALOGUE, variables={"a": a})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor, GlobalTypeVar, Type, TypeCall, TypeData, TypeVar
from baton._src.relay.check.elaboration import Elaboration
from baton._src.relay.check.infer_type import Relations
from baton._src.relay.check.relations import STANDARD_RELATIONS
from baton._src.relay.nodes import Function, Var
from baton._src.relay.text.attribute_reader import AttributeReader
from baton._src.relay.text.cursor import MAX_ERRORS, Cursor, SyntaxFault
from baton._src.relay.text.elaborate import elaborate_expr, elaborate_module
from baton._src.relay.text.expression_reader import ExpressionReader
from baton._src.relay.text.lexer import MAX_TEXT, Kind, Text
from baton._src.relay.text.metadata_reader import MetadataSection
from baton._src.relay.text.names import Names, OperatorNames
from baton._src.relay.text.type_reader import TypeReader
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.support.trampoline import run
from baton._src.transform.collector import rarely_collecting

VERSION = "0.0.5"


def parse(
    text: str,
    catalogue: OperatorNames,
    *,
    module: IRModule | None = None,
    metadata: Mapping[str, Sequence[Any]] | None = None,
    relations: Relations = STANDARD_RELATIONS,
    source_name: str = "<string>",
) -> IRModule:
    """The module a text defines, together with `module`, which it may refer to. Types are inferred.

    A text that is one expression becomes `main`. `metadata` are objects for `meta[Key][i]` besides those the text has.
    `DiagnosticError` lists every fault.
    """
    with rarely_collecting():
        reader = ModuleReader(text, catalogue, module, relations, source_name, metadata)
        made = reader.module()
        return elaborate_module(made, reader.elaboration, relations, catalogue)


def parse_expr(
    text: str,
    catalogue: OperatorNames,
    *,
    module: IRModule | None = None,
    variables: Mapping[str, Var] | None = None,
    relations: Relations = STANDARD_RELATIONS,
    source_name: str = "<string>",
    may_be_ill_typed: bool = False,
) -> Any:
    """The expression a text is, typed. Its free variables are declared by `free_var` or given as `variables`.

    One that has no type is an error, or with `may_be_ill_typed` given back without types.
    """
    reader = ModuleReader(text, catalogue, module, relations, source_name)
    expr = reader.expr(variables or {})
    try:
        return elaborate_expr(expr, reader.elaboration, relations, catalogue, module)
    except DiagnosticError:
        if may_be_ill_typed:
            return expr
        raise


class ModuleReader:
    """Reads the definitions of a text."""

    def __init__(
        self,
        text: Any,
        catalogue: OperatorNames,
        module: IRModule | None,
        relations: Relations,
        source_name: str,
        metadata: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        if not isinstance(text, str):
            raise fail("api", f"a program is parsed from its text, not from a {type(text).__name__}")
        if len(text) > MAX_TEXT:
            raise fail("relay-parse", f"the text has {len(text)} characters, more than the limit of {MAX_TEXT}")
        self._cursor = Cursor(Text(source_name, text))
        self._metadata = MetadataSection(self._cursor, metadata)
        self._types = TypeReader(self._cursor)
        self._names = Names(self._cursor, catalogue, relations)
        self.elaboration = Elaboration()
        self._base = module if module is not None else IRModule()
        self._functions: dict[GlobalVar, Function] = {}
        self._definitions: dict[GlobalTypeVar, TypeData] = {}
        self._attrs: dict[str, Any] = {}
        self._import(self._base)

    def _import(self, module: IRModule) -> None:
        for var in module.functions:
            self._names.globals[var.name_hint] = var
        for header, data in module.type_definitions.items():
            self._types.adts[header.name_hint] = header
            for constructor in data.constructors:
                self._names.constructors[constructor.name_hint] = constructor

    # ---- whole texts

    def module(self) -> IRModule:
        cursor = self._cursor
        self._header()
        self._attributes()
        body = cursor.index
        if not self._at_definition():
            return self._expression_module()
        self._gather_types()
        for reads_types in (True, False):
            cursor.back_to(body)
            self._definitions_pass(reads_types)
        self._complain()
        functions = {**self._base.functions, **self._functions}
        types = {**self._base.type_definitions, **self._definitions}
        return IRModule(functions, types, self._module_attributes(), self._base.global_infos)

    def expr(self, variables: Mapping[str, Var]) -> Any:
        """The text as one expression."""
        self._header()
        reader = self._reader()
        for name, var in variables.items():
            reader.scope.push(var if var.name_hint == name else var.with_fields(name_hint=name))
        try:
            found = run(reader.sequence())
            if self._cursor.token.kind not in (Kind.END, Kind.METADATA):
                raise self._cursor.unexpected("the end of the expression")
        except SyntaxFault:
            found = None
        self._complain()
        return found

    def _expression_module(self) -> IRModule:
        base = self._base.with_fields(attrs=self._module_attributes())
        if self._cursor.token.kind in (Kind.END, Kind.METADATA) and not self._cursor.errors:
            return base
        found = self.expr({})
        main = found if isinstance(found, Function) else Function((), found, span=found.span)
        return base.with_functions({**base.functions, self._names.global_var("main"): main})

    def _complain(self) -> None:
        errors = self._cursor.errors
        if errors:
            unique = list(dict.fromkeys(errors))
            order = sorted(unique, key=lambda e: (e.span.line, e.span.column) if e.span else (0, 0))
            raise DiagnosticError(order[:MAX_ERRORS])

    def _header(self) -> None:
        cursor = self._cursor
        if not cursor.accept("#["):
            return
        try:
            token = cursor.expect_kind(Kind.NAME, "that is version")
            cursor.expect("=", "after version")
            version = cursor.expect_kind(Kind.STRING, "that is a version")
            if token.text != "version" or version.text != VERSION:
                message = f'this text says {token.text} = "{version.text}"'
                cursor.error(message, cursor.span_of(version), f'what is read is version = "{VERSION}"')
            cursor.expect("]", "after the version")
        except SyntaxFault:
            cursor.skip_to_definition()

    def _attributes(self) -> None:
        """`attributes {"name" = value, ...}`: those of the module."""
        cursor = self._cursor
        if not (cursor.at("attributes") and cursor.peek().text == "{"):
            return
        reader = AttributeReader(cursor, self._metadata)
        try:
            cursor.next()
            cursor.next()
            while not cursor.at("}"):
                name = cursor.expect_kind(Kind.STRING, "that names an attribute")
                if name.text in self._attrs:
                    cursor.error(f"{name.text} is given twice", cursor.span_of(name), "leave one out")
                cursor.expect("=", "after the name of an attribute")
                self._attrs[name.text] = reader.value()
                if not cursor.accept(","):
                    break
            cursor.expect("}", "after the attributes of a module")
        except SyntaxFault:
            cursor.skip_to_definition()

    def _module_attributes(self) -> dict[str, Any]:
        return {**self._base.attrs, **self._attrs}

    def _at_definition(self) -> bool:
        token = self._cursor.token
        return token.kind is Kind.NAME and token.text in ("def", "type", "data", "extern")

    # ---- passes over the definitions

    def _gather_types(self) -> None:
        """The names of all algebraic data types, wherever they are defined."""
        tokens = self._cursor.tokens
        for index, token in enumerate(tokens[:-1]):
            if token.kind is Kind.NAME and token.text in ("type", "data"):
                name = tokens[index + 1]  # nothing but a definition has two names side by side
                if name.kind is Kind.NAME and name.text not in self._types.adts:
                    self._types.adts[name.text] = GlobalTypeVar(name.text, span=self._cursor.span_of(name))

    def _definitions_pass(self, reads_types: bool) -> None:
        cursor = self._cursor
        while cursor.token.kind is not Kind.END and cursor.token.kind is not Kind.METADATA:
            start = cursor.index
            try:
                if not self._at_definition():
                    raise cursor.unexpected("a definition (def, type, data or extern type)")
                is_function = cursor.at("def")
                if is_function != reads_types:
                    self._function() if is_function else self._type_definition()
                elif cursor.accept("extern"):
                    cursor.next()  # type
                    cursor.next()  # its name
                else:
                    cursor.next()
                    cursor.skip_braces()
            except SyntaxFault:
                cursor.next() if cursor.index == start else None
                cursor.skip_to_definition()

    def _reader(self) -> ExpressionReader:
        self._types.variables = {}
        self._types.dims = {}
        return ExpressionReader(self._cursor, self._types, self._names, self._metadata, self.elaboration)

    def _function(self) -> None:
        cursor = self._cursor
        cursor.next()
        token = cursor.expect_kind(Kind.GLOBAL, "after def")
        var = self._names.global_var(token.text[1:], cursor.span_of(token))
        if var in self._functions or var in self._base.functions:
            cursor.error(f"{token.text} is defined twice", cursor.span_of(token), "global names are unique")
        self._functions[var] = run(self._reader().function(token))

    def _type_definition(self) -> None:
        cursor = self._cursor
        start = cursor.token.start
        word = cursor.next().text
        if word == "extern":
            cursor.expect("type", "after extern")
        token = cursor.expect_kind(Kind.NAME, "of a data type")
        header = self._types.adts[token.text]
        if header in self._definitions or header in self._base.type_definitions:
            cursor.error(f"the type {token.text} is defined twice", cursor.span_of(token))
        self._types.variables = {}
        params = self._types.type_params()
        constructors: list[Constructor] = []
        if word == "extern" and cursor.at("{"):
            raise cursor.fault("an extern type has no constructors", cursor.token)
        if word != "extern":
            cursor.expect("{", "before the constructors of a type")
            while not cursor.at("}"):
                constructors.append(self._constructor(header, params))
                cursor.accept(",")
            cursor.expect("}", "after the constructors of a type")
        self._definitions[header] = TypeData(header, params, constructors, span=cursor.span(start))

    def _constructor(self, header: GlobalTypeVar, params: tuple[TypeVar, ...]) -> Constructor:
        """`C`, `C(T, ...)` or `C : (T, ...) -> D[...]`."""
        cursor = self._cursor
        token = cursor.expect_kind(Kind.NAME, "of a constructor")
        fields: list[Type] = []
        has_result = cursor.accept(":")
        if has_result or cursor.at("("):
            cursor.expect("(", "before the fields of a constructor")
            while not cursor.at(")"):
                fields.append(self._types.type())
                if not cursor.accept(","):
                    break
            cursor.expect(")", "after the fields of a constructor")
        if has_result:
            cursor.expect("->", "before the type a constructor makes")
            self._check_result(header, params, token.start)
        if token.text in self._names.constructors:
            cursor.error(f"the constructor {token.text} is defined twice", cursor.span_of(token))
        made = Constructor(token.text, tuple(fields), header, span=cursor.span_of(token))
        self._names.constructors[token.text] = made
        return made

    def _check_result(self, header: GlobalTypeVar, params: tuple[TypeVar, ...], start: int) -> None:
        cursor = self._cursor
        token = cursor.token
        found = self._types.type()
        right = isinstance(found, TypeCall) and found.func is header and tuple(found.args) == params
        if not right and not cursor.errors:
            wanted = f"{header.name_hint}[{', '.join(p.name_hint for p in params)}]"
            cursor.error(f"a constructor of {header.name_hint} makes a {wanted}", cursor.span_of(token))
