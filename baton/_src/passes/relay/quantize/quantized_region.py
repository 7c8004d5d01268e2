"""The region between a `qnn.quantize` and the `qnn.dequantize`s that feed it, rewritten on integers operator by
operator.

Each operator has a rule (`integer_rules`, or registered by users) that returns the operator on integers and the
`AffineType` of its result. If a rule is missing or does not apply, the region is unchanged (`NoRule`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.structural import structural_equal
from baton._src.passes.relay.building import Build, dtype_of, is_call, shape_of
from baton._src.relay.expressions import parts
from baton._src.relay.nodes import Call, Constant, Tuple, TupleGetItem
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail


@dataclass(eq=False)
class AffineType:
    """The type of integers q that represent (q - zero_point) * scale; both are scalars, or vectors along `axis`."""

    scale: Any
    zero_point: Any
    dtype: Any
    axis: int = -1


@dataclass(eq=False)
class TupleAffineType:
    """The types of the fields of a tuple."""

    types: Sequence[AffineType]


def alike(one: AffineType, other: AffineType) -> bool:
    """Whether equal integers represent equal numbers."""
    places = ((one.scale, other.scale), (one.zero_point, other.zero_point))
    return one.dtype == other.dtype and all(
        a is b
        or (isinstance(a, Constant) and isinstance(b, Constant) and a.data.shape == () and structural_equal(a, b))
        for a, b in places
    )


class NoRule(Exception):
    """The region cannot be rewritten."""

    at: Any = None
    """The operator whose rule does not apply, or that has none."""

    def error(self) -> DiagnosticError:
        """The diagnostic for `hard_fail`."""
        name = getattr(getattr(self.at, "op", None), "name", "this expression")
        message = f"{name} between a dequantize and a quantize cannot be computed on integers"
        help = f"register_fake_quantization_to_integer({name!r}, rule) teaches how, hard_fail=False leaves it alone"
        return fail("fake-quantization", message, span=getattr(self.at, "span", None), help=help)


class Region:
    """The operators between one quantize and its dequantizes."""

    def __init__(self, build: Build, root: Call, rules: Mapping[str, Rule], optional: frozenset[str]) -> None:
        self.build = build
        self.rules = rules
        self.optional = optional
        self._root = root
        self.types: dict[Any, Any] = {}
        """Of what is quantised: an `AffineType`, of tuples a `TupleAffineType`."""
        self._inner: list[Any] = []
        self._computed_from: set[Any] | None = None

    def rewritten(self) -> Any:
        """The region on integers; None if it cannot be."""
        out, scale, zero = self._root.args
        order = self._order(out)
        if order is None or not any(is_call(n, "dequantize") for n in order):
            return None
        target = AffineType(scale, self._integer(zero), dtype_of(self._root), self._root.attrs.axis)
        self._inner = order
        done: dict[Any, Any] = {}
        for node in order:
            try:
                done[node] = self._node(node, done, target)
            except NoRule as stays:
                stays.at = node
                raise
        value, found = done[out], self.types[out]
        if alike(found, target):
            return value
        return self.requantized(value, found, target)

    def _integer(self, zero: Any) -> Any:
        """A zero point, which programs may write as a float, as int32."""
        if not dtype_of(zero).is_float:
            return zero
        if isinstance(zero, Constant):
            return self.build.const(zero.data.data.astype("int32"), "int32")
        return self.build.op("astype", zero, dtype="int32")

    def _order(self, out: Any) -> list[Any] | None:
        """The nodes of the region, parts first; None if it contains anything but operators on dequantised data."""
        found: list[Any] = []
        seen: set[Any] = set()
        work: list[tuple[Any, bool]] = [(out, False)]
        while work:
            node, is_done = work.pop()
            if is_done:
                found.append(node)
                continue
            if node in seen:
                continue
            seen.add(node)
            inner = isinstance(node, (Tuple, TupleGetItem)) or (isinstance(node, Call) and isinstance(node.op, Op))
            if not inner and not isinstance(node, Constant):
                return None
            work.append((node, True))
            if inner and not is_call(node, "dequantize"):
                work += [(p, False) for p in parts(node) if not isinstance(p, Op)]
        return found

    def _node(self, node: Any, done: dict[Any, Any], target: AffineType) -> Any:
        if isinstance(node, Constant):
            return node
        if isinstance(node, Tuple):
            if all(f in self.types for f in node.fields):
                self.types[node] = TupleAffineType([self.types[f] for f in node.fields])
            return self.build.tuple(*(done[f] for f in node.fields))
        if isinstance(node, TupleGetItem):
            whole = self.types.get(node.tuple_value)
            single = whole.types[node.index] if isinstance(whole, TupleAffineType) else self.type_of(node.tuple_value)
            self.types[node] = single
            return self.build.item(done[node.tuple_value], node.index)
        if is_call(node, "dequantize"):
            value, scale, zero = node.args
            self.types[node] = AffineType(scale, self._integer(zero), dtype_of(value), node.attrs.axis)
            return value
        args = tuple(done[a] for a in node.args)
        user = node.op.get_attr("FTVMFakeQuantizationToInteger")
        if node.op.name in self.optional:
            user = node.op.get_attr("FTVMOptionalFakeQuantizationToInteger") or user
        if user is not None:
            known = {made: self.types[a] for a, made in zip(node.args, args) if a in self.types}
            call = Call(node.op, args, node.attrs)
            made, type_ = user(call, {**known, call: target, node: target})
            self.types[node] = type_
            return self.build.typed(made)
        rule = self.rules.get(node.op.name)
        if rule is None:
            raise NoRule
        made, self.types[node] = rule(self, node, args, target)
        return made

    # ---- what rules ask

    def type_of(self, node: Any) -> AffineType:
        """The affine type of a node; raises `NoRule` if it is not quantised, or a tuple."""
        found = self.types.get(node)
        if not isinstance(found, AffineType):
            raise NoRule
        return found

    def requantized(self, value: GraphExpr, found: AffineType, target: AffineType) -> Any:
        """Integers of one type as those of another; None where the target varies along an axis."""
        if shape_of(target.scale) != () or shape_of(target.zero_point) != ():
            return None
        operands = (value, found.scale, found.zero_point, target.scale, target.zero_point)
        axis = found.axis if found.axis >= 0 else len(value.checked_type.shape) - 1
        return self.build.op("qnn.requantize", *operands, axis=max(axis, 0), out_dtype=target.dtype)

    def may_cut(self, node: Any, keep_order: Collection[str]) -> bool:
        """Whether only these operators, which keep order, read the result of `node` within the region."""
        if self._computed_from is None:
            self._computed_from = set()
            for reader in reversed(self._inner):
                if reader in self._computed_from or (isinstance(reader, Call) and reader.op.name not in keep_order):
                    self._computed_from.update(parts(reader))
        return node not in self._computed_from

    def scalars(self, *types: AffineType) -> None:
        """Operators that support no scale that varies."""
        if any(shape_of(p) != () for t in types for p in (t.scale, t.zero_point)):
            raise NoRule


Rule = Callable[[Region, Call, tuple[Any, ...], AffineType], tuple[Any, AffineType]]
"""`rule(region, call, operands on integers, what the whole is quantised to) -> (expression, what it stands for)`."""
