"""ManifestAlloc: make memory explicit. Operators and primitive functions write into preallocated tensors.

    let %y = add(%x, 1f);
becomes
    let %kernel = fn (%p, Primitive=1) { add(%p, 1f) };
    let %storage = memory.alloc_storage(size, shape, alignment);
    let %y = memory.alloc_tensor(%storage, 0, shape);
    let %inputs = (%x,);
    let %outputs = (%y,);
    let %done = vm.invoke_tvm_op(%kernel, %inputs, %outputs);

in A-normal form, which the pass establishes first. If the shape of a result is unknown, `vm.shape_func` computes it
from the inputs' shapes (or from the inputs themselves, if it depends on elements), and the size of the storage is
computed from that. Operators that only change the shape become `vm.reshape_tensor`, a view. Calls whose types depend on
type parameters are unchanged, and so are device annotations.

The debug interpreter runs such a program with exactly this memory; the compiler converts it back to values
(`dissolve_memory`) and plans memory in Relax.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import NotApplicable
from baton._src.ir.types import TensorType, TupleType
from baton._src.ops import builders
from baton._src.passes.relay.building import is_generalized
from baton._src.passes.relay.forms.to_a_normal_form import ToANormalForm
from baton._src.passes.relay.memory.flat_kernels import (
    flat_function,
    int64,
    kernel_of_call,
    known_dims,
    primitive,
    shape_type,
    tensors,
    typed,
    typed_tuple,
)
from baton._src.passes.relay.memory.remove_standalone_reshapes import RESHAPES
from baton._src.relay.check.infer_type import counts_as_inferred, infer_type
from baton._src.relay.expressions import walk
from baton._src.relay.info import STORAGE_TYPE
from baton._src.relay.memory_calls import is_memory_call
from baton._src.relay.nodes import Call, Constant, Function, If, Let, Match, Tuple, TupleGetItem, Var
from baton._src.support.dataclass import dataclass
from baton._src.support.trampoline import Task, run
from baton._src.tir.expr import AnyDim, IntImm
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass
from baton._src.values.dtype import DataType

ALIGNMENT = 64
"""Of storages, in bytes: a cache line."""

_STAY = ("on_device", "device_copy", "copy", "debug")
"""Operators about the location of values, and the prefix of annotations: they are unchanged."""

RELAY: Any = builders.RELAY
Lets = list[tuple[Var, Any]]


@dataclass(frozen=True)
class ManifestAlloc(FunctionPass):
    """See the module's docstring. `virtual_device` is written down as the device of every storage."""

    function_class: ClassVar[type] = Function
    opt_level: ClassVar[int] = 0
    virtual_device: Any = "cpu"

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        module = infer_type(ToANormalForm(inside_kernels=False)(module))
        return infer_type(super().run(module, ctx))

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        if function.attrs.get("Primitive"):
            return function
        device = getattr(self.virtual_device, "device_type_int", self.virtual_device)
        manifest = _Manifest(str(device))
        made = function.with_fields(body=run(manifest.scope(function.body)))
        if manifest.exact:
            counts_as_inferred(made, function)
        return made


@dataclass
class _Manifest:
    """Rewrites one function."""

    device: str
    primitives: dict[Var, Function] = field(default_factory=dict)
    tuples: dict[Var, tuple[Any, ...]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    exact: bool = True
    """Whether every type must be exactly what inference will find: where memory is allocated, named dims become `?`."""

    def scope(self, root: GraphExpr) -> Task[Any]:
        """The lets of a scope, with explicit memory."""
        lets: Lets = []
        node = root
        while isinstance(node, Let):
            value = node.value
            match value:
                case If():
                    chosen, other = (yield self.scope(value.true_branch)), (yield self.scope(value.false_branch))
                    value = value.with_fields(true_branch=chosen, false_branch=other)
                case Match():
                    clauses = []
                    for clause in value.clauses:
                        clauses.append(clause.with_fields(rhs=(yield self.scope(clause.rhs))))
                    value = value.with_fields(clauses=tuple(clauses))
                case Function() if not value.attrs.get("Primitive"):
                    value = value.with_fields(body=(yield self.scope(value.body)))
                case Function():
                    self.primitives[node.var] = value
                case Tuple():
                    self.tuples[node.var] = value.fields
                case _:
                    pass
            if not (isinstance(value, Call) and self._call(node.var, value, lets)):
                lets.append((node.var, value))
            node = node.body
        type_ = node.checked_type_
        for bound, value in reversed(lets):
            node = typed(Let(bound, value, node), type_)
        return node

    # ---- one call

    def _call(self, result: Var, call: Call, lets: Lets) -> bool:
        """Bind `result` to the value of `call`, computed in allocated memory; False if the call is to be kept."""
        wanted = tensors(call.checked_type_)
        given = [tensors(a.checked_type_) for a in call.args]
        if wanted is None or None in given or any(is_generalized(e) for e in (call, *call.args)):
            return False
        made = self._kernel(call, lets)
        if made is None:
            return False
        kernel, function, args = made
        inputs = [leaf for arg in args for leaf in self._leaves(arg, arg.checked_type, lets)]
        shapes = self._shapes(kernel, function, inputs, wanted, lets)
        if isinstance(call.op, Op) and call.op.name in RESHAPES:
            dims = self._asserted(wanted[0])
            made = RELAY.vm.reshape_tensor(inputs[0], shapes[0], dims if -1 in dims else None)
            lets.append((result, typed(made, wanted[0])))
            return True
        names: list[Any] = [result] if isinstance(call.checked_type, TensorType) else [None] * len(wanted)
        outputs = [self._tensor(t, s, n, lets) for t, s, n in zip(wanted, shapes, names)]
        self._invoke(RELAY.vm.invoke_tvm_op, kernel, inputs, outputs, lets)
        if outputs != [result]:
            packed = self._packed(call.checked_type, iter(outputs), lets)
            self.tuples[result] = packed.fields
            lets.append((result, packed))
        return True

    def _kernel(self, call: Call, lets: Lets) -> tuple[Var, Function, list[Any]] | None:
        """The flattened primitive function of a call, bound to a variable, and its arguments."""
        op = call.op
        if isinstance(op, Var) and op in self.primitives:
            function = self.primitives[op]
            if all(isinstance(p.checked_type_ or p.type_annotation, TensorType) for p in function.params):
                return op, function, list(call.args)
            function = flat_function(function)
            return self._bind("kernel", function, lets), function, list(call.args)
        if not isinstance(op, Op) or op.definition is None or is_memory_call(call):
            return None
        if op.name in _STAY or op.name.startswith("annotation."):
            return None
        function, args = kernel_of_call(call)
        reshape = op.name in RESHAPES and all(-1 not in known_dims(t) for t in tensors(call.checked_type) or ())
        return (Var("unused") if reshape else self._bind("kernel", function, lets)), function, args

    def _shapes(
        self, kernel: Var, function: Function, inputs: Sequence[Any], wanted: Sequence[TensorType], lets: Lets
    ) -> list[Any]:
        """The shapes of the results: constants, or variables that a shape function fills."""
        if all(-1 not in known_dims(t) for t in wanted):
            return [int64(known_dims(t)) for t in wanted]
        by_elements = any(_decided_by_elements(n) for n in walk(function.body))
        given = inputs if by_elements else [self._shape_of(i, lets) for i in inputs]
        vectors = [shape_type(len(t.shape)) for t in wanted]
        outputs = [self._tensor(v, int64(known_dims(v)), None, lets) for v in vectors]
        flags = (by_elements,) * len(inputs)
        self._invoke(lambda *parts: RELAY.vm.shape_func(*parts, flags), kernel, given, outputs, lets)
        return list(outputs)

    def _shape_of(self, tensor: Any, lets: Lets) -> Var:
        made = typed(RELAY.vm.shape_of(tensor), shape_type(len(tensor.checked_type.shape)))
        return self._bind("shape", made, lets)

    def _tensor(self, type_: TensorType, shape: Any, name: Var | None, lets: Lets) -> Var:
        """A tensor in its own storage."""
        dims = known_dims(type_)
        dtype = DataType(type_.dtype)
        if -1 not in dims:
            size: Any = int64(int(np.prod(dims, dtype=np.int64)) * dtype.itemsize)
        else:
            size = self._size(len(dims), dtype.itemsize, shape, lets)
        alloc = RELAY.memory.alloc_storage(size, shape, int64(ALIGNMENT), self.device, str(dtype))
        storage = self._bind("storage", typed(alloc, STORAGE_TYPE), lets)
        assert_shape = self._asserted(type_) if -1 in dims else None
        made = typed(RELAY.memory.alloc_tensor(storage, int64(0), shape, str(dtype), assert_shape), type_)
        if name is None:
            return self._bind("tensor", made, lets)
        lets.append((name, made))
        return name

    def _asserted(self, type_: TensorType) -> tuple[int, ...]:
        self.exact &= all(isinstance(d, IntImm | AnyDim) for d in type_.shape)
        return known_dims(type_)

    def _size(self, rank: int, itemsize: int, shape: Any, lets: Lets) -> Var:
        """The size in bytes of a tensor of this shape, computed at run time if it is not known."""
        number = TensorType((), DataType("int64"))
        dims = typed(Var("dims", shape_type(rank)), shape_type(rank))
        body = typed(RELAY.multiply(typed(RELAY.prod(dims), number), int64(itemsize)), number)
        kernel = self._bind("size", primitive([dims], body), lets)
        bytes_ = self._tensor(number, int64(()), None, lets)
        self._invoke(RELAY.vm.invoke_tvm_op, kernel, [shape], [bytes_], lets)
        return bytes_

    def _invoke(self, build: Any, kernel: Var, inputs: Sequence[Any], outputs: Sequence[Any], lets: Lets) -> None:
        given = self._bind("inputs", typed_tuple(inputs), lets)
        filled = self._bind("outputs", typed_tuple(outputs), lets)
        self._bind("done", typed(build(kernel, given, filled), TupleType(())), lets)

    # ---- tuples and names

    def _leaves(self, expr: Any, type_: Any, lets: Lets) -> list[Any]:
        """The tensors in a value, from left to right."""
        if isinstance(type_, TensorType):
            return [expr]
        found: list[Any] = []
        for index, each in enumerate(type_.fields):
            known = self.tuples.get(expr)
            part = (
                known[index] if known is not None else self._bind("field", typed(TupleGetItem(expr, index), each), lets)
            )
            found += self._leaves(part, each, lets)
        return found

    def _packed(self, type_: Any, leaves: Iterator[Any], lets: Lets) -> Any:
        """The value of this type built from `leaves`."""
        parts = []
        for each in type_.fields:
            nested = isinstance(each, TupleType)
            parts.append(self._bind("field", self._packed(each, leaves, lets), lets) if nested else next(leaves))
        return typed_tuple(parts)

    def _bind(self, hint: str, value: GraphExpr, lets: Lets) -> Var:
        count = self.counts[hint] = self.counts.get(hint, -1) + 1
        bound = typed(Var(f"{hint}_{count}"), value.checked_type)
        lets.append((bound, value))
        if isinstance(value, Tuple):
            self.tuples[bound] = value.fields
        return bound


def _decided_by_elements(node: Any) -> bool:
    """Whether the result shape of a call depends on the elements of a non-constant argument."""
    if not isinstance(node, Call) or not isinstance(node.op, Op) or node.op.definition is None:
        return False
    definition = node.op.definition
    decisive = [node.args[i] for i in definition.shape_values if i < len(node.args)]
    if any(not isinstance(a, Constant) for a in decisive):
        return True
    return isinstance(definition.compute, NotApplicable) and isinstance(definition.decompose, NotApplicable)
