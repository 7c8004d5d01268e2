"""FuseOps: operators that run as one kernel become calls of functions marked `Primitive`.

    relu(nn.conv2d(%x, %w) + %b)
becomes
    (fn (%p0, %p1, %p2, Primitive=1) { relu(nn.conv2d(%p0, %p1) + %p2) })(%x, %w, %b)

The groups are decided by `passes.shared.fusion_groups` (at most one convolution, matmul or reduction a group, opaque
operators alone, at most `relay.FuseOps.max_depth` nodes). Scalar constants are grouped like operators. At level 0 every
operator is its own group. Operators of different scopes (branches, closures, before and after a let) are never grouped.
Functions that only reshape get the attribute `relay.reshape_only`. `annotation.stop_fusion` is removed once the groups
are made.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.node import set_note
from baton._src.ir.op_def import Fusion
from baton._src.ir.types import FuncType
from baton._src.passes.relay.building import is_call, is_generalized, shape_of
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.passes.shared.fusion_groups import FusionNode, fusion_groups
from baton._src.relay.expressions import inside_primitives, parts, walk, with_parts
from baton._src.relay.nodes import Call, Constant, Function, Tuple, TupleGetItem, Var
from baton._src.relay.scopes import Scopes
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

STOP = "annotation.stop_fusion"
MARK = "on_device"
"""The operator that only says on which device a value is."""
SIMPLE_DTYPES = ("int32", "int64", "float32", "float64", "bool")
RESHAPES = (
    *("reshape", "reshape_like", "contrib_reverse_reshape", "dyn.reshape"),
    *("expand_dims", "squeeze", "nn.batch_flatten"),
)
"""Operators whose result has the elements of the operand in the same order."""


@dataclass(frozen=True)
class FuseOps(RelayFunctionPass):
    """`fuse_opt_level` -1 takes the context's level."""

    opt_level: ClassVar[int] = 0
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)
    fuse_opt_level: int = -1

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        if function.attrs.get("Primitive"):
            return function
        level = ctx.opt_level if self.fuse_opt_level < 0 else self.fuse_opt_level
        return _Fusion(function, ctx.setting("relay.FuseOps.max_depth"), level).run()


class _Fusion:
    """The groups of one function, and the function rewritten."""

    def __init__(self, function: Function, max_depth: int, level: int) -> None:
        self._function = function
        self._scopes = Scopes(function)
        order = walk(function.body)
        inside = inside_primitives(order)
        self._order = [n for n in order if self._takes_part(n) and n not in inside]
        self._number = {node: i for i, node in enumerate(self._order)}
        self._group = self._groups(max_depth, level)

    def _takes_part(self, node: Any) -> bool:
        if isinstance(node, Call):
            particular = not any(is_generalized(value) for value in (node, *node.args))
            computes = isinstance(node.op, Op) and node.op.definition is not None and not is_call(node, MARK)
            return computes and particular
        return isinstance(node, (Tuple, TupleGetItem)) or _is_simple_scalar(node)

    def _groups(self, max_depth: int, level: int) -> list[int]:
        nodes = [FusionNode(_pattern(n)) for n in self._order]
        for user in walk(self._function.body):
            for part in parts(user):
                number = self._number.get(part)
                if number is None:
                    continue
                at = self._number.get(user)
                same_scope = at is not None and self._scopes.of.get(user) is self._scopes.of.get(part)
                if same_scope and at is not None:
                    nodes[number].users.append((at, _edge(part, user, nodes[at].pattern)))
                else:
                    nodes[number].escapes = True
        body = self._number.get(self._function.body)
        if body is not None:
            nodes[body].escapes = True
        return fusion_groups(nodes, max_depth) if level >= 1 else list(range(len(nodes)))

    def run(self) -> Function:
        members: dict[int, list[Any]] = {}
        for node, group in zip(self._order, self._group):
            members.setdefault(group, []).append(node)
        done: dict[Any, Any] = {}
        for node in walk(self._function):
            number = self._number.get(node)
            if number is None:
                made = with_parts(node, done)
            else:
                group = self._group[number]
                if number != group:
                    continue  # an inner node of a group: its root makes the call
                if is_call(node, STOP):
                    made = done.get(node.args[0], node.args[0])
                else:
                    made = self._call(members[group], node, done)
            if made is not node:
                done[node] = made
        found: Function = done.get(self._function, self._function)
        return found

    def _call(self, members: list[Any], root: GraphExpr, done: dict[Any, Any]) -> Any:
        """The call of the group's function, or the node itself for a tuple or projection by itself."""
        if all(not isinstance(m, Call) for m in members):
            for member in members:
                made = with_parts(member, done)
                if made is not member:
                    done[member] = made
            return done.get(root, root)
        params: dict[Any, Var] = {}
        inner: dict[Any, Any] = {}
        for member in members:
            for part in parts(member):
                if part in inner or isinstance(part, Op):
                    continue
                if part not in params:
                    params[part] = Var(f"p{len(params)}", part.checked_type_)
                    set_note(params[part], "checked_type_", part.checked_type_)
                inner[part] = params[part]
            inner[member] = with_parts(member, inner)
        type_ = root.checked_type_
        attrs = {"Primitive": 1, "relay.reshape_only": 1} if _only_reshapes(members) else {"Primitive": 1}
        function = Function(list(params.values()), inner[root], type_, attrs=attrs)
        set_note(function, "checked_type_", FuncType(tuple(p.checked_type_ for p in params.values()), type_))
        made = Call(function, [done.get(p, p) for p in params], span=root.span)
        set_note(made, "checked_type_", type_)
        return made


def _pattern(node: Any) -> Fusion:
    if isinstance(node, Call):
        return Fusion(node.op.get_attr("TOpPattern"))  # which a script may have registered
    if isinstance(node, Constant):
        return Fusion.ELEMWISE
    return Fusion.TUPLE if isinstance(node, Tuple) else Fusion.INJECTIVE


def _edge(part: Any, user: Any, pattern: Fusion) -> Fusion:
    """A broadcasting operator is elementwise in an operand that already has the shape of the result."""
    if pattern is Fusion.BROADCAST and shape_of(part) is not None and shape_of(part) == shape_of(user):
        return Fusion.ELEMWISE
    return pattern


def _is_simple_scalar(node: Any) -> bool:
    """Whether a constant is a number that can be a literal of the kernel; other constants are arguments."""
    return isinstance(node, Constant) and node.data.shape == () and str(node.data.dtype) in SIMPLE_DTYPES


def _only_reshapes(members: list[Any]) -> bool:
    return all(is_call(m, *RESHAPES) for m in members if isinstance(m, Call))
