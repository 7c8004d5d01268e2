"""Loops of TorchScript whose end the elements of tensors decide: they become `torch.while_loop`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.script_branches import tensor_operands, with_tensors
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

Body = Callable[[Mapping[str, Any], Sequence[Any]], list[Any]]
"""Runs a loop's body where these values have other tensors than outside, given (turn, *state): (condition, *state)."""


@dataclass(frozen=True)
class Loop:
    """What is left of a loop: `while condition and turn < trips: condition, *state = body(turn, *state)`.

    `given` are the values from outside that the body uses; `line` is the script's.
    """

    body: Body
    turn: int
    trips: int
    condition: Any
    given: Mapping[str, Any]
    line: str

    def run(self, state: Sequence[Any]) -> list[Any]:
        """The state behind the loop, tensors that keep their shapes and dtypes; numbers are tensors from here on."""
        torch = torch_library()
        leaves, spec = torch.utils._pytree.tree_flatten([self.turn, self.condition, *state])
        start = [_as_tensor(leaf, self.line) for leaf in leaves]
        operands, places = tensor_operands(self.given)

        def goes_on(*tensors: Any) -> Any:
            return (tensors[0] < self.trips) & tensors[1].reshape(()).bool()

        def step(*tensors: Any) -> tuple[Any, ...]:
            turn, _, *now = torch.utils._pytree.tree_unflatten(list(tensors[: len(start)]), spec)
            outside = with_tensors(self.given, places, tensors[len(start) :])
            found, structure = torch.utils._pytree.tree_flatten([turn + 1, *self.body(outside, [turn, *now])])
            if structure != spec:
                message = f"{self.line} is a loop that the elements of a tensor end; one turn of it gives other things"
                raise fail("torch-script", message, help="assign tensors to the same variables in every turn")
            return tuple(_like(f, s, self.line) for f, s in zip(found, start, strict=True))

        found = torch.ops.higher_order.while_loop(goes_on, step, tuple(start), tuple(operands))
        return list(torch.utils._pytree.tree_unflatten(list(found), spec)[2:])


def _as_tensor(leaf: Any, line: str) -> Any:
    """A copy, as no two tensors of a loop may be one. Floats would be rounded as tensors, or make results wide."""
    torch = torch_library()
    if isinstance(leaf, torch.Tensor):
        return leaf.clone()
    if not isinstance(leaf, (int, torch.SymInt)):
        message = f"{line} is a loop that the elements of a tensor end, and carries {leaf!r}, which is not a tensor"
        raise fail("torch-script", message, help="convert it to a tensor before the loop")
    return torch.scalar_tensor(leaf, dtype=torch.bool if isinstance(leaf, bool) else torch.int64)


def _like(leaf: Any, start: Any, line: str) -> Any:
    found = _as_tensor(leaf, line)
    if found.dtype != start.dtype or found.shape != start.shape:
        before, after = (f"{t.dtype} {tuple(t.shape)}" for t in (start, found))
        message = f"{line} is a loop that the elements of a tensor end; one turn makes {after} of {before}"
        raise fail("torch-script", message, help="let tensors keep their dtypes and shapes in every turn")
    return found.contiguous()
