"""`Language`: the interface of importers to Relax and Relay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from baton._src.frontends.graph_builder.value import Value
from baton._src.ir.op_def import OpDef
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.tir.expr import Var
from baton._src.values.tensor import AnyArray

Arm = Callable[[], list[tuple[Any, TensorInfo]]]
"""Writes one branch and returns its results."""
State = list[tuple[Any, TensorInfo]]
"""What a loop carries."""


class Language(Protocol):
    """The operations that differ between the two languages."""

    name: str

    def input(self, name: str, info: TensorInfo) -> Any: ...

    def start(self) -> None:
        """All inputs are known; the first call follows."""
        ...

    def constant(self, array: AnyArray) -> Any: ...

    def call(self, definition: OpDef[Any], args: list[Any], attrs: Any, count: int, hint: str) -> Sequence[Any]:
        """Emit a call; one expression a result. `args` hold expressions, tuples of them, `ShapeInfo`s and `Scalars`."""
        ...

    def packed(self, name: str, args: Sequence[Any], infos: Sequence[TensorInfo]) -> Sequence[Any]:
        """A call of the VM's function `name`; a tuple if it has several results. `args`: expressions, ints and strs."""
        ...

    def shape_tensor(self, dims: Sequence[Dim]) -> Any:
        """A rank-1 int64 tensor with these elements."""
        ...

    def branch(self, condition: Any, arms: Sequence[Arm]) -> Sequence[tuple[Any, TensorInfo]]:
        """If `condition` (a rank-0 bool tensor) the first arm, else the second; each writes its own bindings."""
        ...

    def loop(
        self, start: Sequence[Any], infos: Sequence[TensorInfo], step: Callable[[State], list[Any]]
    ) -> Sequence[Any]:
        """`while state[0]: state = step(state)`, the final state; `infos` fit the state of every iteration. In `step`
        sizes that change (`AnyDim`) have names, if the language supports them."""
        ...

    def demand(self, condition: Any, told: str) -> None:
        """Raise an error with the message `told` at run time unless `condition` (a rank-0 bool tensor) holds."""
        ...

    def match(self, expr: Any, info: TensorInfo, hint: str, doubtful: Sequence[int] = ()) -> Any:
        """`expr`, an operand of the node `hint`, checked at run time to have the shape of `info`: only the sizes of the
        `doubtful` axes may be others."""
        ...

    def named(self, expr: Any, info: TensorInfo) -> tuple[Any, TensorInfo]:
        """A result of unknown shape with new names for its sizes, if the language supports them."""
        ...

    def numbers(self, expr: Any, count: int) -> list[Var]:
        """The elements of a rank-1 int64 tensor, computed at run time, as symbolic sizes."""
        ...

    def rewrite(self, name: str) -> Callable[..., Value] | None:
        """The expansion of the neutral operator `name` by others, if the language lacks it."""
        ...

    def in_scope(self, dims: Sequence[Dim]) -> bool:
        """Whether all sizes are known where the program has got to."""
        ...

    def rehearse(self, infos: Sequence[TensorInfo], run: Callable[[list[Any]], None]) -> None:
        """Call `run` with variables of these infos and discard what it emits."""
        ...
