"""Lower calls: of operators, of known and unknown functions, of constructors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TypeGuard

from baton._src.ir.attrs import Attrs, OpenAttrs
from baton._src.ir.expr import GlobalVar, GraphExpr, Op, PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.op_def import Definition, Input, OpCall
from baton._src.ir.tensor_info import TensorInfo
from baton._src.ir.types import Constructor, FuncType, TensorType, Type
from baton._src.lower.relay_to_relax.binding_emitter import BindingEmitter, Bindings
from baton._src.lower.relay_to_relax.operators_by_sizes import lower_by_sizes
from baton._src.lower.relay_to_relax.shape_values import Dims
from baton._src.lower.relay_to_relax.types import OBJECT
from baton._src.relax import nodes as rx
from baton._src.relax.info import to_info
from baton._src.relax.special_ops import special_op
from baton._src.relay.check.operator_rule import is_unknown
from baton._src.relay.nodes import Call, Function, Var
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import IntImm


class Calls:
    """Lowers the calls in one function."""

    def __init__(self, emitter: BindingEmitter) -> None:
        self._emitter = emitter
        self._scope: Bindings | None = None
        self._read: dict[GraphExpr, Dims] = {}

    def callee_parts(self, node: Call) -> list[GraphExpr]:
        """The expressions that the callee needs bound before the call."""
        op = node.op
        if isinstance(op, (Op, Constructor, GlobalVar)) or op in self._emitter.values:
            return []
        return [op]

    def lower(self, node: Call, bindings: Bindings) -> GraphExpr:
        """The leaf that holds the value of the call."""
        emitter = self._emitter
        args = [emitter.values[a] for a in node.args]
        match node.op:
            case Op() if any(is_unknown(a.checked_type) for a in node.args):
                return self._undecided(node, node.op, args, bindings)
            case Op():
                found = lower_by_sizes(node, args, emitter, bindings, self._sizes_read(bindings))
                return found or emitter.emit(bindings, self.operator(node, node.op, args, bindings), node)
            case Constructor():
                return self.construct(bindings, node.op, args, node)
            case GlobalVar():
                scheme = emitter.schemes[node.op.name_hint]
                made = rx.Call(emitter.globals[node.op.name_hint], args, span=node.span)
                return self._cast_result(bindings, made, scheme, node)
            case _:
                return self._call_value(bindings, node, args)

    def _sizes_read(self, bindings: Bindings) -> dict[GraphExpr, Dims]:
        """The sizes that were read from tensors in the scope that is being written; those of others may not be seen."""
        if bindings is not self._scope:
            self._scope, self._read = bindings, {}
        return self._read

    def _undecided(self, node: Call, op: Op, args: Sequence[GraphExpr], bindings: Bindings) -> GraphExpr:
        """A call whose operands have no known type after specialisation: nothing calls the function around it with any,
        so it never runs."""
        info = self._emitter.types.known(node.checked_type)
        return self._emitter.builtin(bindings, "undecided", [rx.StringImm(op.name), *args], info, node)

    def _call_value(self, bindings: Bindings, node: Call, args: Sequence[GraphExpr]) -> GraphExpr:
        emitter = self._emitter
        known = emitter.functions.get(node.op)
        if known is not None:
            return self._cast_result(bindings, rx.Call(emitter.values[node.op], args, span=node.span), known, node)
        return self._invoke(bindings, node, args)

    def _cast_result(self, bindings: Bindings, made: rx.Call, scheme: FuncType, node: Call) -> GraphExpr:
        """The result of a polymorphic function is an object: cast it to the type that this call has."""
        emitter = self._emitter
        have, want = emitter.types.known(scheme.ret_type), emitter.types.known(node.checked_type)
        return emitter.cast(bindings, emitter.emit(bindings, made, node), have, want, node)

    def _invoke(self, bindings: Bindings, node: Call, args: Sequence[GraphExpr]) -> GraphExpr:
        """A call of a function value that is not known statically."""
        emitter = self._emitter
        op = special_op("invoke_pure_closure" if emitter.pure else "invoke_closure")
        info = emitter.types.known(node.checked_type)
        made = rx.Call(op, (emitter.values[node.op], rx.Tuple(args)), None, (info,), node.span)
        return emitter.emit(bindings, made, node)

    def operator(self, node: Call, op: Op, args: list[GraphExpr], bindings: Bindings) -> rx.Call:
        """The same operator in Relax."""
        definition = op.definition
        if definition is None:
            raise fail("relay-operator", f"{op.name} has no definition", span=node.span)
        attrs = getattr(node, "attrs", None)
        if definition.attrs is OpenAttrs:
            attrs = OpenAttrs(**dict(attrs.items())) if attrs else None
        elif not definition.attrs.names:
            attrs = None
        elif attrs is None:
            attrs = definition.attrs()
        if definition.relay_to_relax is not None:
            given, attrs, *other = definition.relay_to_relax(list(args), attrs)
            definition = other[0] if other else definition
        else:
            type_ = getattr(node, "checked_type_", None)
            target = self._resolved_target(node, definition, attrs, args, bindings)
            given = with_relax_operands(definition, args, attrs, type_, target)
            attrs = without_operands(definition, attrs)
        kinds = [operand.kind for operand in definition.inputs if "relax" in operand.languages]
        operands = [as_relax(a, kinds[n] if n < len(kinds) else "") for n, a in enumerate(given)]
        return rx.Call(definition.relax_op, operands, attrs and attrs.in_relax(), span=node.span)

    def _resolved_target(
        self, node: Call, definition: Definition, attrs: Attrs | None, args: list[GraphExpr], bindings: Bindings
    ) -> Dims | None:
        """The target shape of an operator on a tensor of unknown dims, whose attribute has values special to Relay (0,
        -2, -3, -4): a cast, which replaces the first of `args`, names those dims. None if there is nothing to resolve.
        """
        operand = next((o for o in definition.inputs if _is_target(o)), None)
        target = None if operand is None or attrs is None else attrs.get(operand.relay_name or operand.name)
        if len(args) != 1 or not any(isinstance(d, int) and (d == 0 or d < -1) for d in target or ()):
            return None
        type_ = node.args[0].checked_type
        if _is_static(type_) or not isinstance(type_, TensorType):
            return None
        info = self._emitter.types.param(type_)
        args[0] = self._emitter.match(bindings, args[0], info, node)
        found = definition.infer(OpCall(definition, (to_info(info),), attrs, Analyzer(), (None,), node.span))
        assert isinstance(found, TensorInfo)
        return found.shape

    def construct(
        self, bindings: Bindings, constructor: Constructor, args: Sequence[GraphExpr], node: Node
    ) -> GraphExpr:
        """The tagged tuple that a constructor's call makes."""
        header = [rx.PrimValue(constructor.tag), rx.StringImm(constructor.name_hint)]
        return self._emitter.builtin(bindings, "make_adt", [*header, *args], OBJECT, node)

    def as_function(self, node: Op | Constructor) -> Function:
        """A function that calls a constructor that is used as a value; operators that are used so are refused."""
        if isinstance(node, Op):
            message = f"the operator {node.name} is used as a value"
            raise fail("relay-operator-value", message, help="wrap it: fn(%x) { op(%x) }; EtaExpand does that")
        params = [Var(f"a{i}") for i in range(len(node.inputs))]
        return Function(params, Call(node, params))


def _is_target(operand: Input) -> bool:
    """Whether a Relax operand is the shape of the result, which is an attribute in Relay."""
    return operand.kind == "shape" and operand.name == "shape" and "relay" not in operand.languages


def _is_static(type_: Type | None) -> TypeGuard[TensorType]:
    return isinstance(type_, TensorType) and all(isinstance(d, IntImm) for d in type_.shape)


def with_relax_operands(
    definition: Definition, args: Sequence[GraphExpr], attrs: Attrs | None, type_: Type | None, target: Dims | None
) -> list[object]:
    """`args` with the operands inserted that are attributes in Relay: a target shape, the bounds of a clip.

    The shape of the result comes from the call's type if that is known (Relay's `newshape` has special values), else
    from `target`, else from the attribute.
    """
    rest = iter(args)
    found: list[object] = []
    for operand in definition.inputs:
        if "relay" in operand.languages:
            found.extend(arg for arg in (next(rest, None),) if arg is not None)
            continue
        content = None if attrs is None else attrs.get(operand.relay_name or operand.name)
        if _is_target(operand):
            content = type_.shape if _is_static(type_) else content if target is None else target
        if content is None:
            break
        found.append(tuple(content) if operand.kind == "shape" else content)
    return [*found, *rest]


def without_operands(definition: Definition, attrs: Attrs | None) -> Attrs | None:
    """The attributes without those that `with_relax_operands` made operands."""
    if attrs is None or isinstance(attrs, OpenAttrs):
        return attrs
    moved = {o.relay_name or o.name for o in definition.inputs if "relay" not in o.languages}
    found = {f.name: f.default for f in fields(attrs) if f.name in moved and attrs[f.name] != f.default}
    return attrs.with_attrs(**found) if found else attrs


def as_relax(argument: object, kind: str = "") -> GraphExpr:
    """Convert an argument returned by an operator's adapter: expressions stay, dims become shapes, numbers become prims
    (also in tuples, for an operand of kind `prims`).
    """
    if isinstance(argument, GraphExpr):
        return argument
    if isinstance(argument, PrimExpr):
        return rx.PrimValue(argument)
    if isinstance(argument, (tuple, list)):
        if kind == "prims" or any(isinstance(a, GraphExpr) for a in argument):
            return rx.Tuple([as_relax(a) for a in argument])
        return rx.ShapeExpr(argument)
    return rx.PrimValue(argument)
