"""The type rule of an operator call: from Relay types to `Info`, `OpDef.infer`, and back.

`quick` serves the ordinary call, whose argument types are all known. `apply` serves a call that waited: it fills in
what `OpDef.infer_inputs` knows of untyped weights, settles the dtype of open literals, and says None while that is not
enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from baton._src.ir.attrs import NO_ATTRS, Attrs
from baton._src.ir.expr import Op
from baton._src.ir.op_def import Fusion, OpCall
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ir.types import IncompleteType, TensorType, TupleType, Type, TypeVar
from baton._src.relay.check.prover import DimRules
from baton._src.relay.check.relations import FunctionRelation
from baton._src.relay.check.unify import Unifier
from baton._src.relay.info import from_info, to_info
from baton._src.support.diagnostics import DiagnosticError, InternalError, fail
from baton._src.support.spans import Span
from baton._src.values.dtype import FLOAT32, INT32, DataType


class OperatorRule:
    """Type rules of operators over one unifier; remembers conversions, since most calls repeat a few types."""

    def __init__(self, unifier: Unifier) -> None:
        self._unifier = unifier
        self._prover = DimRules()
        self._infos: dict[Any, Info] = {}
        self._types: dict[Any, Type] = {}
        self._results: dict[Any, tuple[Type, Any]] = {}
        """Static results by operator and the identities of attributes (kept alive beside the result) and types."""

    def custom(self, op: Op) -> FunctionRelation | None:
        """The user's own relation, where the operator was registered with one."""
        infer = getattr(op.definition, "infer", None)
        return infer if isinstance(infer, FunctionRelation) else None

    def quick(
        self, op: Op, args: Sequence[Any], attrs: Any, constants: Sequence[Any], span: Span | None
    ) -> Type | None:
        """The result type if every argument type is known completely, else None."""
        if self.custom(op) is not None:
            return None
        types = [self._unifier.find(arg) for arg in args]
        known_before = None
        if not any(c is not None for c in constants):
            known_before = (op, id(attrs), *map(id, types))
            result = self._results.get(known_before)
            if result is not None:
                return result[0]
        infos = []
        for type_ in types:
            info = self._known(type_)
            if info is None:
                return None
            infos.append(info)
        made = self._infer(op, tuple(infos), attrs, constants, span)
        if known_before is not None and made in self._infos and all(t in self._infos for t in types):
            self._results[known_before] = made, attrs
        return made

    def _known(self, type_: Type) -> Info | None:
        """The info of a type without anything open in it."""
        found = self._infos.get(type_)
        if found is None and _is_closed(type_):
            found = self._infos[type_] = to_info(type_)
        return found

    def _infer(self, op: Op, infos: tuple[Info, ...], attrs: Any, constants: Sequence[Any], span: Span | None) -> Type:
        definition = op.definition
        if definition is None:
            raise fail("op-argument", f"{op.name} has no definition, so its type is unknown", span=span)
        try:
            call = OpCall(definition, infos, attrs or _defaults(op), self._prover, tuple(constants), span)
            if definition.relay_rule is not None:
                definition.relay_rule(call)
            found = definition.infer(call)
        except _CONTENTS as error:
            raise unfit(op, attrs, error, span) from error
        if _has_negative_extent(found):
            listed = f"the attributes are: {attrs}" if attrs is not None else "its operands are too small"
            call.fail("gives a tensor of a negative extent", code="op-shape", help=listed)
        return self._type_of(found)

    def _type_of(self, info: Info) -> Type:
        """The type of an info; equal static tensors are one object, which makes comparing them cheap."""
        if isinstance(info, TensorInfo) and info.is_static:
            key = (info.shape, info.dtype)
            made = self._types.get(key)
            if made is None:
                made = self._types[key] = from_info(info)
                self._infos[made] = info
            return made
        return from_info(info)

    def apply(
        self, op: Op, args: Sequence[Any], attrs: Any, constants: Sequence[Any], span: Span | None
    ) -> Type | None:
        """As `quick`, after settling what can be settled; None if the arguments are still too little known."""
        known = [self._unifier.resolve(a) for a in args]
        if any(isinstance(t, (IncompleteType, TypeVar)) for t in known):
            known = self._infer_inputs(op, args, known, attrs, constants, span)
        if any(is_unknown(t) for t in known):
            return None
        if any(_open_dtype(t) for t in known):
            return self._with_literals(op, known, attrs, constants, span)
        return self._infer(op, tuple(to_info(t) for t in known), attrs, constants, span)

    def _infer_inputs(
        self, op: Op, args: Sequence[Any], known: list[Any], attrs: Any, constants: Sequence[Any], span: Span | None
    ) -> list[Any]:
        """Weights whose type follows from the data (conv2d, dense, batch_norm, ...)."""
        rule = op.definition.infer_inputs
        if rule is None or not known or is_unknown(known[0]) or _open_dtype(known[0]):
            return known
        infos = tuple(TensorInfo() if is_unknown(t) else to_info(t) for t in known)
        try:
            call = OpCall(op.definition, infos, attrs or _defaults(op), self._prover, tuple(constants), span)
            op.definition.infer(call)  # what is wrong with the data alone stays wrong, whatever the weights will be
            found = rule(call)
        except _CONTENTS as error:
            raise unfit(op, attrs, error, span) from error
        for arg, wanted in zip(args, found):
            if wanted is not None and wanted.shape is not None and not wanted.dtype.is_void:
                if isinstance(self._unifier.find(arg), IncompleteType):
                    self._unifier.unify(arg, self._type_of(wanted))
        return [self._unifier.resolve(a) for a in args]

    def _with_literals(
        self, op: Op, known: list[Any], attrs: Any, constants: Sequence[Any], span: Span | None
    ) -> Type | None:
        """A call with text literals of open dtype: elementwise operators give them the dtype of the other arguments, if
        they need it.
        """
        if op.definition.fusion not in (Fusion.ELEMWISE, Fusion.BROADCAST):
            return None
        dtypes = [t.dtype for t in known if isinstance(t, TensorType)]
        fixed = list(dict.fromkeys(d for d in dtypes if isinstance(d, DataType) and d != "bool"))
        holes = [d for d in dtypes if isinstance(d, IncompleteType)]
        if not all(isinstance(t, (TensorType, TupleType)) for t in known):  # no dtype makes them fit a function
            for hole in holes:
                self._unifier.unify_dtypes(hole, INT32)
            return self._infer(op, tuple(to_info(_with_dtype(t, INT32)) for t in known), attrs, constants, span)
        if any(isinstance(d, TypeVar) for d in dtypes):
            for hole in holes:
                self._unifier.numeric.discard(hole)
            return None
        if len(fixed) > 1 or not holes:  # without holes they are inside of a tuple, which the rule will judge
            return None
        holes = list(dict.fromkeys(holes))
        result = self._for_any_dtype(op, known, holes[0], attrs, constants, span)
        if result is None and fixed:
            for hole, dtype in zip(holes, self._fitting(op, known, holes, fixed[0], attrs, constants)):
                self._unifier.unify_dtypes(hole, dtype)
            return self.apply(op, known, attrs, constants, span)
        for hole in holes[1:]:
            self._unifier.unify_dtypes(holes[0], hole)
        return result

    def _fitting(
        self, op: Op, known: list[Any], holes: list[Any], dtype: DataType, attrs: Any, constants: Sequence[Any]
    ) -> Sequence[DataType]:
        """The dtypes of literals: int32 where nothing speaks against it (a zero point, a branch of `where` beside a
        condition of numbers), else `dtype`, that of the other arguments.
        """
        for tried in product(dict.fromkeys((INT32, dtype)), repeat=len(holes)):
            found = dict(zip(holes, tried))
            infos = [_with_dtype(t, found.get(getattr(t, "dtype", None), dtype)) for t in known]
            try:
                self._infer(op, tuple(to_info(t) for t in infos), attrs, constants, None)
            except DiagnosticError:
                continue
            return tried
        return [dtype] * len(holes)

    def _for_any_dtype(
        self, op: Op, known: list[Any], hole: Any, attrs: Any, constants: Sequence[Any], span: Span | None
    ) -> Type | None:
        """If the rule treats int32 and float32 alike, the result is known but for that dtype."""
        results = []
        for dtype in (INT32, FLOAT32):
            tried = [_with_dtype(t, dtype) for t in known]
            try:
                results.append(self._infer(op, tuple(to_info(t) for t in tried), attrs, constants, span))
            except DiagnosticError:
                return None
        first, second = results
        if not isinstance(first, TensorType) or not isinstance(second, TensorType):
            return None
        if first.dtype == INT32 and second.dtype == FLOAT32:
            return first.with_fields(dtype=self._unifier.find(hole))
        return first if first.dtype == second.dtype else None


_CONTENTS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, MemoryError, InternalError)
"""Python's errors for attributes of the wrong kind: a string for an axis, a list for a number."""


def unfit(op: Op, attrs: Any, error: Exception, span: Span | None) -> DiagnosticError:
    """The error of a call whose attributes its type rule cannot work with."""
    listed = attrs.items() if isinstance(attrs, Attrs) else [("attrs", attrs)] if attrs is not None else []
    shown = ", ".join(f"{name}={content!r}" for name, content in listed) or "none"
    message = f"{op.name}: no type follows from these attributes: {error}"
    return fail("op-attribute", message, span=span, help=f"the attributes are: {shown}")


def _has_negative_extent(info: Info) -> bool:
    """Whether no tensor can be of this shape."""
    if isinstance(info, TupleInfo):
        return any(map(_has_negative_extent, info.fields))
    dims = info.shape if isinstance(info, TensorInfo) and isinstance(info.shape, tuple) else ()
    return any(isinstance(dim, int) and dim < 0 for dim in dims)


def _defaults(op: Op) -> Any:
    """The default attributes, for a call without any."""
    made = getattr(op.definition, "attrs", None)
    return made() if made is not None else NO_ATTRS


def _with_dtype(type_: Type, dtype: DataType) -> Any:
    return type_.with_fields(dtype=dtype) if isinstance(getattr(type_, "dtype", None), IncompleteType) else type_


def _is_closed(type_: Type) -> bool:
    match type_:
        case TensorType():
            shape: Any = type_.shape
            dims = isinstance(shape, tuple) and not any(isinstance(d, Type) for d in shape)
            return dims and isinstance(type_.dtype, DataType)
        case TupleType():
            return all(_is_closed(f) for f in type_.fields)
        case IncompleteType() | TypeVar():
            return False
        case _:
            return True


def is_unknown(type_: Type) -> bool:
    """Whether an operator's rule cannot use this type (yet): it has holes or type parameters that matter."""
    match type_:
        case IncompleteType() | TypeVar():
            return True
        case TensorType():
            return not isinstance(type_.shape, tuple) or isinstance(type_.dtype, TypeVar)
        case TupleType():
            return any(is_unknown(f) for f in type_.fields)
        case _:
            return False


def _open_dtype(type_: Type) -> bool:
    match type_:
        case TensorType():
            return not isinstance(type_.dtype, DataType)
        case TupleType():
            return any(_open_dtype(f) for f in type_.fields)
        case _:
            return False
