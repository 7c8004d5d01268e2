"""Automatic differentiation: a function that returns the value and the gradients of the parameters.

    gradient(fn (%x) { %x * %x })  is  fn (%x) { (%x * %x, (%x + %x,)) }   up to the form of the sums

A dataflow program is differentiated in reverse mode over its graph: gradients flow from the result to the parameters,
summed where a value has several users; each operator gives its own rule (`OpDef.gradient`). Lets are first turned into
graph edges, and called globals are inlined. Everything else (ifs, matches, closures, references, recursion) is
differentiated by dual numbers (`higher_order_gradient`), unless `mode="first_order"` requests a dataflow result or else
an error (`relay-gradient`).
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.global_names import free_name
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import NotApplicable
from baton._src.ir.types import TensorType, TupleType, Type
from baton._src.passes.relay.building import Build
from baton._src.passes.relay.forms.inlining import inline_call
from baton._src.passes.relay.forms.to_graph_normal_form import ToGraphNormalForm
from baton._src.passes.relay.gradients.gradient_rules import gradient_rule
from baton._src.passes.relay.gradients.higher_order_gradient import higher_order_gradient
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.analysis import is_dataflow
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.expressions import global_vars, parts, rewrite, walk
from baton._src.relay.nodes import Call, Constant, Function, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem, Var
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext

MODES = ("first_order", "higher_order")


def gradient(expr: GraphExpr, mod: IRModule | None = None, mode: str = "higher_order") -> Function:
    """`fn (params) { (value, (gradient of each parameter, ...)) }`. `mode` is `first_order` or `higher_order`.

    If a program that is not pure dataflow calls functions of `mod`, their differentiated twins `@name_ad` are added to
    `mod` in place, as in TVM.
    """
    if mode not in MODES:
        raise fail("api", f"gradient mode {mode!r}", help='modes are "first_order" and "higher_order"')
    module = mod if mod is not None else IRModule()
    function = module[expr] if isinstance(expr, GlobalVar) else expr
    if not isinstance(function, Function):
        help = "make one of the expression: relay.Function(relay.analysis.free_vars(expr), expr)"
        raise fail("api", f"gradients are of functions, not of a {type(function).__name__}", help=help, kind=TypeError)
    if mode == "higher_order" and not _is_plain(function, module):
        return higher_order_gradient(function, module)
    name = GlobalVar(free_name("gradient_of", module))
    typed = infer_type(module.with_functions({**module.functions, name: function}))
    whole = typed.with_functions({**typed.functions, name: _inlined(typed[name], typed)})
    graph = ToGraphNormalForm()(whole)[name]
    return _Reverse(graph).function()


@dataclass(frozen=True)
class FirstOrderGradient(RelayFunctionPass):
    """Replace every function by one that also returns its gradients."""

    opt_level: ClassVar[int] = 0

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return gradient(function, module, "first_order")


def _is_plain(function: Function, module: IRModule) -> bool:
    """Whether inlining makes `function` a graph of operators."""
    if not is_dataflow(function, module):
        return False
    work, seen = [function], {""}
    while work:
        root = work.pop()
        called = {n.op for n in walk(root) if isinstance(n, Call)}
        for node in walk(root.body):
            if isinstance(node, (RefCreate, RefRead, RefWrite)):
                return False
            if any(isinstance(p, (Function, GlobalVar, Op)) and p not in called for p in parts(node)):
                return False
        names = {v.name_hint: v for v in global_vars(root)}
        work += [module[v] for name, v in names.items() if name not in seen]
        seen |= set(names)
    return True


def _inlined(function: Function, module: IRModule) -> Function:
    """Calls of globals and of function literals replaced by their bodies."""
    for _ in range(100):
        changed = False

        def rule(old: GraphExpr, new: GraphExpr) -> Any:
            nonlocal changed
            if isinstance(new, Call) and isinstance(new.op, (GlobalVar, Function)):
                callee = module[new.op] if isinstance(new.op, GlobalVar) else new.op
                changed = True
                return inline_call(callee, new)
            return None

        function = rewrite(function, rule)
        if not changed:
            return function
    raise fail("relay-gradient", "a function that calls itself cannot be differentiated by inlining")


class _Reverse:
    """One function, its nodes in order, and the gradient of each."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._build = Build()
        self._grads: dict[Any, Any] = {}
        self._fields: dict[Any, dict[int, Any]] = {}
        """Of tuples, the gradients of single fields: most projections of one have others."""

    def function(self) -> Function:
        body = self._function.body
        self._grads[body] = self._ones(body)
        for node in reversed(walk(body)):
            if node in self._fields:
                self._add(node, self._whole(node, self._fields.pop(node)))
            grad = self._grads.get(node)
            if grad is not None:
                self._spread(node, grad)
        grads = [self._grads[p] if p in self._grads else self._zeros(p) for p in self._function.params]
        result = Tuple((body, Tuple(grads)))
        return Function(self._function.params, result, None, self._function.type_params, self._function.attrs)

    def _ones(self, value: GraphExpr) -> Any:
        return self._filled(value.checked_type, "ones_like", value)

    def _zeros(self, value: GraphExpr) -> Any:
        return self._filled(value.checked_type, "zeros_like", value)

    def _filled(self, type_: Type, name: str, value: GraphExpr) -> Any:
        if isinstance(type_, TensorType):
            return self._build.op(name, value)
        if isinstance(type_, TupleType):
            fields = [self._filled(t, name, self._build.item(value, i)) for i, t in enumerate(type_.fields)]
            return self._build.tuple(*fields)
        raise fail("relay-gradient", "only tensors and tuples of them have gradients")

    def _add(self, node: Any, grad: Any) -> None:
        if isinstance(node, (Constant, Op)) or grad is None:
            return
        before = self._grads.get(node)
        self._grads[node] = grad if before is None else self._sum(before, grad)

    def _add_to_field(self, value: GraphExpr, index: int, grad: Any) -> None:
        fields = self._fields.setdefault(value, {})
        fields[index] = self._sum(fields[index], grad) if index in fields else grad

    def _whole(self, value: GraphExpr, fields: dict[int, Any]) -> Any:
        """The gradient of a tuple, zeros for the fields that have none."""
        made = []
        for index in range(len(value.checked_type.fields)):
            made.append(fields[index] if index in fields else self._zeros(self._build.item(value, index)))
        return self._build.tuple(*made)

    def _sum(self, left: Any, right: Any) -> Any:
        if isinstance(left.checked_type, TupleType):
            count = len(left.checked_type.fields)
            items = [self._sum(self._build.item(left, i), self._build.item(right, i)) for i in range(count)]
            return self._build.tuple(*items)
        return self._build.op("add", left, right)

    def _spread(self, node: Any, grad: Any) -> None:
        match node:
            case Var() | Constant() | Op():
                return
            case Tuple():
                for index, field in enumerate(node.fields):
                    self._add(field, self._build.item(grad, index))
            case TupleGetItem():
                self._add_to_field(node.tuple_value, node.index, grad)
            case Call() if isinstance(node.op, Op):
                self._spread_call(node, grad)
            case _:
                message = f"a {type(node).__name__} cannot be differentiated"
                help = 'first-order gradients are of dataflow programs; mode="higher_order" differentiates all'
                raise fail("relay-gradient", message, span=node.span, help=help)

    def _spread_call(self, node: Call, grad: Any) -> None:
        rule = gradient_rule(node.op)
        if isinstance(rule, NotApplicable):
            if not _has_floats(node.checked_type):
                return  # comparisons, positions, shapes: nothing flows back through them
            raise fail("relay-gradient", f"{node.op.name} has no gradient: {rule.why}", span=node.span)
        self._build.describe(node, grad, *node.args)
        found = rule(self._build, node.args, node.attrs, node, grad)
        for arg, piece in zip(node.args, found):
            self._add(arg, piece)


def _has_floats(type_: Type) -> bool:
    if isinstance(type_, TupleType):
        return any(map(_has_floats, type_.fields))
    return isinstance(type_, TensorType) and type_.dtype.is_float
