"""FuseAttention: softmax(Q Kᵀ, scaled and masked) V becomes one kernel.

    lv = R.matmul(q, R.permute_dims(k, [0, 1, 3, 2]))
    lv1 = R.divide(lv, R.const(8, "float32"))                gv = R.call_tir(cls.attention, (x, y, z, bias), ...)
    lv2 = R.add(lv1, bias)                            ->
    lv3 = R.nn.softmax(lv2, axis=-1)
    gv = R.permute_dims(R.matmul(lv3, v), [0, 2, 1, 3])

Operators that only move queries, keys, values or the result (`permute_dims`; keys repeated for every head of a group by
`broadcast_to` and `reshape`) becomes part of how the kernel reads and writes. Between the products the scores may be
combined, by addition, subtraction, multiplication or division, with operands that broadcast to them. Keys multiplied by
a number are scores multiplied by it, and weights set to 0 for whole queries are results set to 0 (ONNX's Attention does
both). Lengths may be symbolic; head sizes are constants. The scores, which nothing else may use, are never materialised
(`kernel_schedules/attention/attention`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from baton._src.analysis.bindings import all_bindings, count_uses
from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.fusion.attention_kernel import ATTENTION, AttentionLayout, Step, Term
from baton._src.passes.relax.fusion.attention_operands import (
    all_same,
    dims_of,
    is_all_zero,
    number_of,
    source,
)
from baton._src.passes.relax.lasting_values import LookingRewriter
from baton._src.passes.relax.module_rewriter import ModuleRewriter
from baton._src.passes.relax.operators.kernel_of_call import Kernel, cache_key, make_kernel, variables
from baton._src.relax.info import to_info
from baton._src.relax.literals import const
from baton._src.relax.nodes import Call, Function, ShapeExpr, Tuple, Var, VarBinding, is_call
from baton._src.relax.special_ops import special_op
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.operators import is_const
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

STEPS = {"relax.add": "add", "relax.subtract": "subtract", "relax.multiply": "multiply", "relax.divide": "divide"}
LARGEST_HEAD = 512


@dataclass(frozen=True)
class FuseAttention(Pass):
    """See the module."""

    opt_level = 2

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return _Fuser(module).rewritten()


@dataclass(frozen=True)
class _Found:
    """The operands of one attention, and the order of their axes."""

    operands: tuple[Any, ...]
    batch: int
    query: tuple[Term, ...]
    key: tuple[Term, ...]
    value: tuple[Term, ...]
    steps: tuple[Step, ...]
    empty: tuple[Any, Any] | None = None
    """The queries whose results are to be replaced, and by what."""

    @property
    def order(self) -> tuple[int, ...]:
        """The logical axes of the last product."""
        return (*range(self.batch + 1), self.batch + 3)


class _Fuser(LookingRewriter, ModuleRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.uses: dict[Var, int] = {}
        self.made: dict[Any, tuple[GlobalVar, Kernel, list[TirVar]]] = {}
        self.found: dict[Var, _Found] = {}
        self.moved: set[Var] = set()
        """Variables that a permute_dims reads."""

    def enter_function(self, function: Function) -> None:
        super().enter_function(function)
        self.uses = {**count_uses(function), **self.uses}  # functions around this one have counted all uses
        for binding in all_bindings(function):
            if isinstance(binding, VarBinding) and is_call(binding.value, "relax.permute_dims"):
                self.moved.add(binding.value.args[0])

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if is_call(value, "relax.matmul"):
            found = self._attention(value)
            if found is None:
                return value
            if found.empty is not None:
                return self._with_empty_queries(value, found, found.empty)
            if binding.var in self.moved and self.uses.get(binding.var) == 1:
                self.found[binding.var] = found  # the kernel is made where its result is moved
                return value
            return self._kernel(value, found, found.order)
        if is_call(value, "relax.permute_dims") and value.args[0] in self.found and value.args[0] in self.lasting:
            inner = self.found[value.args[0]]
            rank = len(inner.order)
            axes = [int(a) for a in value.attrs.axes] if value.attrs.axes is not None else range(rank)[::-1]
            return self._kernel(value, inner, tuple(inner.order[a % rank] for a in axes))
        return value

    # --------------------------------------------------------------------------------------------- recognising

    def _attention(self, product: Call) -> _Found | None:
        """The parts of an attention whose last operator is `product`."""
        softmax, empty = self._weights(product.args[0])
        rank = len(dims_of(product) or ())
        if not is_call(softmax, "relax.nn.softmax") or rank < 3 or softmax.attrs.axis not in (-1, rank - 1):
            return None
        dims = dims_of(softmax)
        steps: list[Step] = []
        others: list[Any] = []
        value = softmax.args[0]
        while True:
            call = self._inner(value)
            if call is None or dims_of(call) is None or not all_same(dims_of(call), dims):
                return None
            if is_call(call, "relax.matmul"):
                break
            step = self._step(call, others)
            if step is None:
                return None
            steps += [step[0]] if step[0] is not None else []
            value = step[1]
        found = self._found(call, product, tuple(reversed(steps)), others)
        return None if found is None else replace(found, empty=empty)

    def _weights(self, value: GraphExpr) -> tuple[Any, tuple[Any, Any] | None]:
        """The call that gives the weights; if those of some queries are all replaced by 0: which, and the 0."""
        call = self._inner(value)
        if not is_call(call, "relax.where") or not is_all_zero(call.args[1]):
            return call, None
        softmax, mask = self._inner(call.args[2]), dims_of(call.args[0])
        if softmax is None or not all_same(dims_of(softmax), dims_of(call)) or not mask or not is_const(mask[-1], 1):
            return call, None
        zero = const(0, call.args[1].struct_info.dtype)  # theirs may have the shape of the weights
        return softmax, None if is_all_zero(call.args[0]) else (call.args[0], zero)

    def _inner(self, value: GraphExpr) -> Any:
        """The call that defines a variable with no other uses."""
        if not isinstance(value, Var) or self.uses.get(value) != 1:
            return None
        call = self.lasting.get(value)
        return call if isinstance(call, Call) else None

    def _step(self, call: Call, others: list[Any]) -> tuple[Step | None, Any] | None:
        """(the step, unless it changes nothing, the scores before it); a further operand is added to `others`."""
        name = STEPS.get(getattr(call.op, "name", ""))
        if name is None:
            return None
        first = self._leads_to_product(call.args[0])
        scores, other = call.args if first else call.args[::-1]
        if not first and not self._leads_to_product(scores):
            return None
        if name == "add" and is_all_zero(other):
            return None, scores
        number = number_of(other)
        if number is not None:
            if name == "divide" and first and math.frexp(number)[0] in (0.5, -0.5):
                return ("multiply", 1.0 / number, True), scores  # a power of two: exact, and ten times as fast
            return (name, number, first), scores
        if dims_of(other) is None or str(other.struct_info.dtype) != str(scores.struct_info.dtype):
            return None
        others.append(other)
        return (name, (len(others) - 1,), first), scores

    def _leads_to_product(self, value: GraphExpr) -> bool:
        """Whether a chain of steps ends in a product. Linear: each value is visited from its only user."""
        while True:
            call = self._inner(value)
            if call is None or is_call(call, "relax.matmul"):
                return call is not None
            if getattr(call.op, "name", "") not in STEPS:
                return False
            operands = [a for a in call.args if self._inner(a) is not None]
            if len(operands) != 1:
                return False
            value = operands[0]

    def _found(self, scores: Call, product: Call, steps: tuple[Step, ...], others: list[Any]) -> _Found | None:
        q, keys, v = scores.args[0], scores.args[1], product.args[1]
        dims = [d for x in (q, keys, v) if (d := dims_of(x)) is not None]
        rank = len(dims_of(product) or ())
        if len(dims) < 3 or any(len(d) != rank for d in dims) or not _plain(scores, product, q, keys, v):
            return None
        batch = rank - 2
        if not all(all_same(d[:batch], dims[0][:batch]) for d in dims[1:]):
            return None
        head, column = dims[0][-1], dims[2][-1]
        if not all(isinstance(s, IntImm) and 0 < s.value <= LARGEST_HEAD for s in (head, column)):
            return None
        row, key, inner, last = range(batch, batch + 4)
        q, query_terms = source(self.lasting, q, [(a, 1) for a in (*range(batch), row, inner)])
        factors: list[float] = []
        keys, key_terms = source(self.lasting, keys, [(a, 1) for a in (*range(batch), inner, key)], factors)
        if factors:
            q, query_terms = source(self.lasting, q, list(query_terms), factors)
            steps = (("multiply", math.prod(factors), True), *steps)
        v, value_terms = source(self.lasting, v, [(a, 1) for a in (*range(batch), key, last)])
        return _Found((q, keys, v, *others), batch, query_terms, key_terms, value_terms, steps)

    # ------------------------------------------------------------------------------------------------ building

    def _with_empty_queries(self, call: Call, found: _Found, empty: tuple[Any, Any]) -> Any:
        kernel = self._kernel(call, found, found.order)
        if kernel is call or not self.is_visible(empty[0]):
            return call
        return self.normalized(RELAX.where(*empty, self.emit(kernel)))

    def _kernel(self, call: Call, found: _Found, result: tuple[int, ...]) -> Any:
        """The call of the kernel that replaces `call`; `call` itself if an operand is out of scope."""
        if not all(self.is_visible(x) for x in found.operands):
            return call
        layout = AttentionLayout(found.batch, found.query, found.key, found.value, result, found.steps)
        args = [to_info(x.struct_info) for x in found.operands]
        out = to_info(call.struct_info)
        key = cache_key(ATTENTION, args, layout, out)
        known = None if key is None else self.made.get(key)
        if known is None:
            kernel = make_kernel(ATTENTION, args, layout, out)
            var = self.builder.add_func(kernel.function, "attention")
            tir_vars: Any = kernel.tir_vars
            if key is not None:
                self.made[key] = (var, kernel, variables(args, out))
        else:
            var, kernel, theirs = known
            ours: dict[Any, Any] = dict(zip(theirs, variables(args, out)))
            tir_vars = tuple(ours[v] for v in kernel.tir_vars)
        fields: list[Any] = [var, Tuple(list(found.operands))]
        if tir_vars:
            fields.append(ShapeExpr(tir_vars))
        return self.normalized(Call(special_op("call_tir"), fields, None, (call.struct_info,), call.span))


def _plain(scores: Call, product: Call, *operands: Any) -> bool:
    """Whether all operands have the same floating dtype."""
    dtypes = {str(x.struct_info.dtype) for x in (*operands, scores, product)}
    return len(dtypes) == 1 and operands[0].struct_info.dtype.is_float
