"""Imports the functions of a module: calls are written out, which leaves one function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.language import Language
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.stablehlo.node import Converter, Node
from baton._src.frontends.stablehlo.text import Operation, Region
from baton._src.ir.tensor_info import TensorInfo
from baton._src.support.diagnostics import DiagnosticError, fail

RETURNS = ("stablehlo.return", "func.return", "return")


class Importer:
    def __init__(self, functions: Mapping[str, Region], language: Language, table: Mapping[str, Converter]) -> None:
        self.functions, self.table = functions, table
        self.graph = GraphBuilder(language)
        self.makers: dict[int, Operation] = {}
        self._kept: list[Value] = []
        """The values in `makers`, so that none of them gives its identity away."""

    def run(self, infos: Sequence[TensorInfo]) -> list[Value]:
        """The results of `main`, whose parameters are inputs of these types."""
        self._check()
        inputs = [self.graph.input(f"arg{k}", info) for k, info in enumerate(infos)]
        self.graph.language.start()
        return self.region(self.functions["main"], inputs, {})

    def _check(self) -> None:
        """Error `stablehlo-unsupported-op`: every operation at once that has no converter."""
        names = {op.name for f in self.functions.values() for op in operations(f)} - {*RETURNS}
        missing = sorted(names - self.table.keys())
        if missing:
            raise fail("stablehlo-unsupported-op", f"these operations are not supported: {', '.join(missing)}")

    def region(self, region: Region, given: Sequence[Value], outer: Mapping[str, Value]) -> list[Value]:
        """The results of a region, which may use values of those around it."""
        scope = {**outer, **dict(zip(region.params, given, strict=True))}
        for op in region.body:
            unknown = [name for name in op.operands if name not in scope]
            if unknown:
                raise fail("stablehlo-text", f"line {op.line}: {unknown[0]} has no value here")
            if op.name in RETURNS:
                return [scope[name] for name in op.operands]
            try:
                self._operation(op, scope)
            except DiagnosticError as error:
                where = f"while importing {op.name} in line {op.line}"
                raise DiagnosticError([d.within(where) for d in error.diagnostics]) from error
        return []

    def call(self, name: str, given: Sequence[Value]) -> list[Value]:
        if name not in self.functions:
            raise fail("stablehlo-text", f"the text has no function @{name}")
        return self.region(self.functions[name], given, {})

    def _operation(self, op: Operation, scope: dict[str, Value]) -> None:
        self.graph.hint = op.name
        operands = [scope[name] for name in op.operands]
        inner = Node(self.graph, op, operands, lambda r, v: self.region(r, v, scope), self.call, self.makers)
        found = self.table[op.name](inner)
        values = [found] if isinstance(found, Value) else list(found)
        for name, value in zip(op.results, values, strict=True):
            scope[name] = value
            self.makers[id(value)] = op
        self._kept += values


def operations(region: Region) -> list[Operation]:
    found = list(region.body)
    for op in region.body:
        for inner in op.regions:
            found += operations(inner)
    return found
