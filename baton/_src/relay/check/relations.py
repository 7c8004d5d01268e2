"""Type relations: the constraints that operators impose on types, as the solver sees them.

A relation is an object with a `name` and `func(args, num_inputs, attrs, reporter) -> bool` (facts §1): the last types
are outputs; it may assign through the reporter; False means "not decided yet, ask again when more is known"; a conflict
is raised or reported. `OperatorRelation` makes one of an `OpDef`; `FunctionRelation` of a Python function of the user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from baton._src.ir.expr import Op
from baton._src.ir.types import FuncType, TensorType, Type, TypeRelation, TypeVar
from baton._src.relay.check.unify import Mismatch
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import AnyDim, IntImm
from baton._src.values.dtype import BOOL


class Reporter(Protocol):
    """The solver's interface for relations."""

    def assign(self, target: Any, source: Any) -> None:
        """Both are one type."""
        ...

    def known(self, type_: Type) -> Any:
        """What is known of `type_` now."""
        ...

    def fail(self, message: str) -> None:
        """The relation cannot hold."""
        ...


RelationFunction = Callable[[tuple[Any, ...], int, Any, Reporter], bool]


@dataclass(frozen=True)
class FunctionRelation:
    """A named relation given by a Python function. It may stand in a `where` clause and as an operator's type rule.

    As an operator's rule it is put in `OpDef.infer`; the solver recognises it there.
    """

    name: str
    func: RelationFunction

    def __call__(self, args: Any, num_inputs: int, attrs: Any, reporter: Reporter) -> bool:
        return self.func(args, num_inputs, attrs, reporter)


@dataclass(frozen=True)
class OperatorRelation:
    """The relation of an operator: its `OpDef` decides (see `operator_rule`)."""

    op: Op

    @property
    def name(self) -> str:
        infer = getattr(self.op.definition, "infer", None)
        named = getattr(infer, "relation", None)
        return str(named or self.op.name)


def relay_inputs(op: Op) -> list[Any]:
    """The operands a Relay call of `op` has."""
    return [i for i in op.definition.inputs if "relay" in i.languages]


def operator_type(op: Op) -> FuncType:
    """The function type of an operator used as a value: fresh parameters under one relation."""
    inputs = relay_inputs(op)
    params = tuple(TypeVar(f"in{i}") for i in range(len(inputs)))
    out = TypeVar("out")
    relation = TypeRelation(OperatorRelation(op), (*params, out), len(params), op.definition.attrs())
    return FuncType(params, out, (*params, out), (relation,))


def broadcast_shapes(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """The shape both broadcast to: aligned right, 1 yields, `?` yields to a known dim. `Mismatch` names the dims."""
    rank = max(len(left), len(right))
    one = IntImm("int32", 1)
    padded = [(one,) * (rank - len(s)) + tuple(s) for s in (left, right)]
    return tuple(_broadcast_dim(a, b, axis - rank) for axis, (a, b) in enumerate(zip(*padded)))


def _broadcast_dim(left: Any, right: Any, axis: int) -> Any:
    if left is right:
        return left
    numbers = [d.value if isinstance(d, IntImm) else None for d in (left, right)]
    if numbers[0] == 1:
        return right
    if numbers[1] == 1 or (numbers[0] is not None and numbers[0] == numbers[1]):
        return left
    if None not in numbers:
        raise Mismatch(f"dims {numbers[0]} and {numbers[1]} (axis {axis}) do not broadcast")
    if isinstance(left, AnyDim):
        return right
    if isinstance(right, AnyDim):
        return left
    return left if numbers[0] is not None else right


def _broadcast(args: tuple[Any, ...], num_inputs: int, attrs: Any, reporter: Reporter) -> bool:
    return _broadcast_into(args, reporter, None)


def _broadcast_comp(args: tuple[Any, ...], num_inputs: int, attrs: Any, reporter: Reporter) -> bool:
    return _broadcast_into(args, reporter, BOOL)


def _broadcast_into(args: tuple[Any, ...], reporter: Reporter, dtype: Any) -> bool:
    *inputs, out = args
    tensors = [_tensor(t, reporter) for t in inputs]
    known = [t for t in tensors if t is not None]
    for tensor in known[1:]:
        reporter.assign(TensorType((), known[0].dtype), TensorType((), tensor.dtype))
    if len(known) < len(inputs):
        return False
    shape: tuple[Any, ...] = ()
    for tensor in known:
        shape = broadcast_shapes(shape, tensor.shape)
    reporter.assign(out, TensorType(shape, dtype or known[0].dtype))
    return True


def _identity(args: tuple[Any, ...], num_inputs: int, attrs: Any, reporter: Reporter) -> bool:
    for other in args[1:]:
        reporter.assign(args[0], other)
    return True


def _identity_comp(args: tuple[Any, ...], num_inputs: int, attrs: Any, reporter: Reporter) -> bool:
    tensor = _tensor(args[0], reporter)
    for other in args[1:-1]:
        reporter.assign(args[0], other)
    if tensor is None:
        return False
    reporter.assign(args[-1], TensorType(tensor.shape, BOOL))
    return True


def _tensor(type_: Type, reporter: Reporter) -> TensorType | None:
    """`type_` if it is a tensor of known shape; an error if it is known to be something else."""
    found = reporter.known(type_)
    if isinstance(found, TensorType):
        return found if isinstance(found.shape, tuple) else None
    if not is_open(found):
        reporter.fail("every type in the relation must be a tensor")
    return None


def is_open(type_: Type) -> bool:
    """Whether it is a hole or a type parameter, which is decided elsewhere."""
    return type(type_).__name__ in ("IncompleteType", "TypeVar")


STANDARD_RELATIONS: Mapping[str, FunctionRelation] = {
    relation.name: relation
    for relation in (
        FunctionRelation("Broadcast", _broadcast),
        FunctionRelation("BroadcastComp", _broadcast_comp),
        FunctionRelation("Identity", _identity),
        FunctionRelation("IdentityComp", _identity_comp),
    )
}
"""What a `where` clause may name without registering anything."""
