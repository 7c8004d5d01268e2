"""Annotate, merge and outline the parts of a program that external compilers handle.

    MergeComposite(table)        patterns become calls of functions with the attribute Composite
    AnnotateTarget(compilers)    operators that a compiler supports stand between compiler_begin and compiler_end
    MergeCompilerRegions()       neighbouring regions of one compiler become one, where no path leaves and comes back
    PartitionGraph()             every region becomes a function with the attribute Compiler (partition_graph)

A compiler supports an operator if the column `target.<compiler>` says so: a bool, or a function of the call. It
supports a composite function named `<compiler>.<something>`. Marked values bound by lets are inlined at their uses, so
that regions can extend across lets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import Build, is_call
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import parts, rewrite, walk, with_parts
from baton._src.relay.nodes import Call, Function, Let, Tuple, TupleGetItem
from baton._src.relay.pattern_rewrite import partition
from baton._src.relay.scopes import Scopes
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.disjoint_sets import DisjointSets
from baton._src.transform.context import PassContext

BEGIN, END = "annotation.compiler_begin", "annotation.compiler_end"


@dataclass(frozen=True)
class MergeComposite(RelayFunctionPass):
    """`pattern_table`: tuples (name, pattern) or (name, pattern, check of the matched expression), tried in order."""

    opt_level: ClassVar[int] = 0
    pattern_table: Sequence[Any] = ()

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        body = function.body
        for entry in self.pattern_table:
            if not isinstance(entry, (tuple, list)) or len(entry) not in (2, 3):
                raise fail(
                    "api", f"an entry of a pattern table is (name, pattern) or (name, pattern, check): {entry!r}"
                )
            name, pattern, *check = entry
            accepts = check[0] if check and check[0] is not None else _always
            body = partition(pattern, body, {"Composite": name}, accepts)
        return function if body is function.body else function.with_fields(body=body)


def _always(matched: Any) -> bool:
    return True


@dataclass(frozen=True)
class AnnotateTarget(RelayFunctionPass):
    """`targets` are names of compilers; the first that supports an operator gets it. With `include_non_call_ops`,
    tuples and projections of the results of one compiler belong to it, too.
    """

    opt_level: ClassVar[int] = 0
    targets: str | Sequence[str]
    include_non_call_ops: bool = True

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        build = Build()
        names = (self.targets,) if isinstance(self.targets, str) else tuple(self.targets)
        inside = {n for f in walk(function) if is_composite(f) for n in walk(f.body)}

        def rule(old: GraphExpr, new: GraphExpr) -> Any:
            if old in inside:
                return None
            if self.include_non_call_ops and isinstance(old, (Tuple, TupleGetItem)):
                compiler = _common(operands(new))
            elif isinstance(old, Call):
                compiler = next((name for name in names if _supports(name, old)), None)
            else:
                return None
            if compiler is None:
                return None
            begun = {a: build.op(BEGIN, a, compiler=compiler) for a in operands(new)}
            return build.op(END, with_parts(new, begun), compiler=compiler)

        return through_lets(rewrite(through_lets(function, names), rule))


def operands(node: Any) -> tuple[Any, ...]:
    """The operands of a call, a tuple or a projection."""
    match node:
        case Call():
            return node.args
        case Tuple() | TupleGetItem():
            return tuple(parts(node))
        case _:
            return ()


def _common(nodes: Sequence[Any]) -> str | None:
    """The compiler whose regions produce all of the nodes, if there is one."""
    found = {n.attrs.compiler if is_call(n, END) else None for n in nodes}
    return found.pop() if len(found) == 1 else None


def through_lets(function: Function, compilers: Sequence[str] | None = None) -> Any:
    """`function` without the lets of marked values: the values replace the variables, each still computed once. With
    `compilers`, also the lets of values that these will take.
    """
    if not any(isinstance(n, Let) for n in walk(function)):
        return function

    def taken(value: GraphExpr) -> bool:
        if compilers is None or not isinstance(value, Call):
            return is_call(value, END)
        return any(_supports(name, value) for name in compilers)

    done: dict[Any, Any] = {}
    bound = {n.value: n.var for n in walk(function) if isinstance(n, Let) and taken(n.value)}
    for node in walk(function):
        if isinstance(node, Let) and node.value in bound and bound[node.value] is node.var:
            done[node] = done.get(node.body, node.body)
            continue
        made = with_parts(node, done)
        if made is not node:
            done[node] = made
        if node in bound:
            done[bound[node]] = made
    return done.get(function, function)


def is_composite(node: Any) -> bool:
    """Whether it is a function that MergeComposite made."""
    return isinstance(node, Function) and "Composite" in node.attrs


def _supports(compiler: str, call: Call) -> bool:
    if is_composite(call.op):
        return str(call.op.attrs["Composite"]).startswith(f"{compiler}.")
    if not isinstance(call.op, Op):
        return False
    column = call.op.get_attr(f"target.{compiler}")
    return bool(column(call)) if callable(column) else bool(column)


class Groups:
    """Disjoint sets of regions, each with the outside regions it depends on, directly or not. Sets of regions are
    integers with a bit for each.
    """

    def __init__(self) -> None:
        self._sets: DisjointSets[int] = DisjointSets()
        self._members: list[int] = []
        self._needs: list[int] = []

    def new(self) -> int:
        number = len(self._members)
        self._members.append(1 << number)
        self._needs.append(0)
        return number

    def find(self, group: int) -> int:
        return self._sets.find(group)

    def members(self, group: int) -> int:
        return self._members[self.find(group)]

    def needs(self, group: int) -> int:
        return self._needs[self.find(group)]

    def join(self, one: int, other: int) -> None:
        one, other = self.find(one), self.find(other)
        if one == other:
            return
        self._sets.join(one, other)
        self._members[one] |= self._members[other]
        self._needs[one] = (self._needs[one] | self._needs[other]) & ~self._members[one]
        whole = self._needs[one] | self._members[one]
        for group, needs in enumerate(self._needs):
            if needs & self._members[one]:  # what depended on a part now depends on all
                self._needs[group] |= whole

    def add_needs(self, group: int, more: int) -> None:
        """`group`, on which nothing depends yet, depends on these regions."""
        group = self.find(group)
        self._needs[group] |= self.closed(more) & ~self._members[group]

    def closed(self, regions: int) -> int:
        """With the sets they belong to, and what those depend on."""
        found, left = regions, regions
        while left:
            group = self.find(left.bit_length() - 1)
            found |= self._members[group] | self._needs[group]
            left &= ~self._members[group]
        return found


@dataclass(frozen=True)
class MergeCompilerRegions(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 0

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        function = through_lets(function)
        groups, region = self._merged(function)

        def rule(old: Any, new: Any) -> Any:
            if not is_call(old, BEGIN) or not is_call(old.args[0], END) or old not in region:
                return None
            producer = old.args[0].args[0]
            if producer in region and groups.find(region[producer]) == groups.find(region[old]):
                return new.args[0].args[0]
            return None

        return rewrite(function, rule)

    def _merged(self, function: Function) -> tuple[Groups, dict[Any, int]]:
        """The group of every marked call, and of the begins before it."""
        groups, region, scopes = Groups(), dict[Any, int](), Scopes(function)
        behind: dict[Any, int] = {}
        ends = {n.args[0]: n for n in walk(function) if is_call(n, END)}
        lets = _LetOrder(function, behind)
        for node in walk(function):
            needed = lets.before(node)
            for part in parts(node):
                needed |= behind.get(part, 0)
            if node in ends:
                own = region[node] = groups.new()
                region.update((a, own) for a in operands(node))
                producers = [self._producer(region, scopes, node, a) for a in operands(node)]
                around = 0  # what the operands need that is not the region they would join
                for producer, operand in zip(producers, operands(node)):
                    needs = (
                        groups.closed(behind.get(operand, 0)) if producer is None else groups.needs(region[producer])
                    )
                    around |= needs
                groups.add_needs(own, needed)
                for producer in producers:
                    if producer is not None and not groups.members(region[producer]) & around:
                        groups.join(region[producer], own)
            behind[node] = needed
            if is_call(node, END) and node.args[0] in region:
                behind[node] |= 1 << region[node.args[0]]
        return groups, region

    @staticmethod
    def _producer(region: dict[Any, int], scopes: Scopes, node: Any, begin: Any) -> Any:
        """The marked call that directly produces the operand of `begin`, if it is for the same compiler and in the same
        scope.
        """
        end: Any = begin.args[0] if is_call(begin, BEGIN) else None
        if not is_call(end, END) or end.attrs.compiler != begin.attrs.compiler:
            return None
        made = end.args[0]
        return made if made in region and scopes.of[made] is scopes.of[node] else None


class _LetOrder:
    """What has run before a let's variable can be read: its value, and the values of the lets around it, which stay
    where they are. `behind` has the regions that each expression comes after.
    """

    def __init__(self, function: Function, behind: dict[Any, int]) -> None:
        self._behind = behind
        found = [n for n in walk(function) if isinstance(n, Let)]
        self._values = {let.var: let.value for let in found}
        self._around = {let.body.var: let.var for let in found if isinstance(let.body, Let)}
        self._known: dict[Any, int] = {}

    def before(self, node: Any) -> int:
        """The regions behind a variable of a let; none behind others."""
        chain, var = [], node if node in self._values else None
        while var is not None and var not in self._known:
            chain.append(var)
            var = self._around.get(var)
        needed = self._known.get(var, 0)
        for var in reversed(chain):
            needed |= self._behind.get(self._values[var], 0)
            self._known[var] = needed
        return needed


__all__ = ["AnnotateTarget", "MergeCompilerRegions", "MergeComposite"]
