"""Which shape variables are in scope while a program is normalised: those of parameters, and those that casts bind.

Those that stand for a dim are not negative, which deduction may use: `x[1:n + 1]` of `n + 1` rows has `n`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from baton._src.ir.node import set_note
from baton._src.relax.check.context import Context
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info, leaf_dims, leaf_infos
from baton._src.relax.info import OBJECT_INFO
from baton._src.relax.nodes import Var
from baton._src.relax.struct_info import StructInfo, TensorStructInfo
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import Var as TirVar


class ShapeScopes:
    """Keeps `context.shape_scope`, which deduction looks at, as regions are entered and left."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._shape_vars: list[TirVar] = []
        self._scope_marks: list[int] = []

    @contextmanager
    def scope(self, params: tuple[Var, ...] = ()) -> Iterator[None]:
        """A region with its own shape variables: those of `params`, and those of casts inside."""
        mark = len(self._shape_vars)
        self._scope_marks.append(mark)
        with self.dims():
            self.define_params(params)
            try:
                yield
            finally:
                self._scope_marks.pop()
                self._context.shape_scope.difference_update(self._shape_vars[mark:])
                del self._shape_vars[mark:]

    def dims(self) -> AbstractContextManager[None]:
        """A region at whose end it is forgotten which variables stand for dims."""
        prover = self._context.prover
        return prover.scope() if isinstance(prover, Analyzer) else nullcontext()

    def note_dims(self, info: StructInfo) -> None:
        """From here on the variables that are dims of tensors in `info` are known not to be negative.

        Those that occur in shapes only may be: they can be read from data, such as positions that count from an end.
        """
        prover = self._context.prover
        tensors = [leaf for leaf in leaf_infos(info, into_functions=False) if isinstance(leaf, TensorStructInfo)]
        found = [d for tensor in tensors for d in leaf_dims(tensor) if isinstance(d, TirVar)]
        if found and isinstance(prover, Analyzer):
            prover.mark_nonnegative(*found)

    @contextmanager
    def outside_scope(self, params: tuple[Var, ...]) -> Iterator[None]:
        """Within the innermost scope, a region that sees only the shape variables of `params` (and outer scopes')."""
        scope, kept = self._context.shape_scope, set(self._context.shape_scope)
        scope.difference_update(self._shape_vars[self._scope_marks[-1] :] if self._scope_marks else ())
        for param in params:
            scope.update(definable_tir_vars_in_struct_info(param.struct_info))
        try:
            yield
        finally:
            scope.update(kept)

    def define_params(self, params: tuple[Var, ...]) -> None:
        """Parameters without annotation are objects; their shape variables come into scope."""
        for param in params:
            if param.struct_info_ is None:
                set_note(param, "struct_info_", OBJECT_INFO)
            self.define_shape_vars(param.struct_info)

    def define_shape_vars(self, info: StructInfo) -> list[TirVar]:
        """Bring the variables that `info` binds into scope; the new ones."""
        scope = self._context.shape_scope
        new = [v for v in definable_tir_vars_in_struct_info(info) if v not in scope]
        scope.update(new)
        self._shape_vars += new
        if new:
            self.note_dims(info)
        return new
