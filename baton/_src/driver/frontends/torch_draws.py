"""Random numbers of a graph of `torch.compile`: PyTorch draws them before each call, from its own generator.

What only draws (`rand`, `bernoulli`, the mask of a dropout) depends on sizes, not on elements. It becomes an input of
the graph, so that compiled functions stay functions, and `torch.manual_seed` gives what it gives without compiling.
Activation checkpointing draws twice: the first graph returns the state of the generator, from which the second draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.program import name_of
from baton._src.support.dataclass import dataclass

_DRAWING = {
    f"aten.{name}"
    for name in (
        "rand.default", "randn.default", "randint.default", "randint.low", "randperm.default", "rand_like.default",
        "randn_like.default", "randint_like.default", "randint_like.low_dtype", "bernoulli.p", "uniform.default",
        "normal_functional.default", "normal.float_float", "exponential.default", "geometric.default",
        "cauchy.default", "log_normal.default", "random.default", "random.from", "random.to",
    )
} | {"torch.random.get_rng_state"}  # fmt: skip
"""Of tensors among their arguments only the shapes and dtypes count."""
_STATE = "baton.rng_state"
"""What the annotation of a node is called that names the input whose state of the generator it draws from."""
_DROPOUT = "aten.native_dropout.default"
_WITH_STATES = tuple(f"torch.ops.higher_order.run_{how}_rng_state" for how in ("and_save", "with"))


@dataclass(frozen=True)
class Draw:
    """What a call of the graph needs from PyTorch's generator: `make` of arguments whose sizes may be symbols.

    `state`: the placeholder of the state that the generator is in, if it is not to go on from where it is.
    """

    make: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    state: Any = None


def take_out_draws(module: Any) -> list[Draw]:
    """Replace what draws by placeholders behind the others, in the order of drawing; how they are filled."""
    graph = module.graph
    _unwrap_states(graph)
    draws: list[Draw] = []
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    for node in [n for n in graph.nodes if n.op == "call_function"]:
        name = name_of(node.target)
        if not _draws(node):
            continue
        place = next(n for n in graph.nodes if n.op != "placeholder")
        with graph.inserting_before(place):
            given = graph.placeholder(f"drawn_{len(placeholders)}_{len(draws)}")
        draw = _dropout(graph, node, given) if name == _DROPOUT else _plain(node, given)
        draws.append(replace(draw, state=node.meta.get(_STATE)))
        graph.erase_node(node)
    return draws


def _draws(node: Any) -> bool:
    name = name_of(node.target)
    return name in _DRAWING or (name == _DROPOUT and bool(node.args[2]) and 0 < node.args[1] < 1)


def is_drawn_before(node: Any) -> bool:
    """Whether a call of the graph becomes an input."""
    return _draws(node) or (name_of(node.target) in _WITH_STATES and name_of(_drawing(node)) in _DRAWING | {_DROPOUT})


def _drawing(node: Any) -> Any:
    """The operator that a call saves, or sets, the state of the generator for."""
    return next(a for a in node.args if not isinstance(a, torch_library().fx.Node))


def _unwrap_states(graph: Any) -> None:
    """Write what saves the state of the generator before it draws as two calls, and what draws from such a state as the
    call itself."""
    for node in [n for n in graph.nodes if n.op == "call_function"]:
        name = name_of(node.target).removeprefix("torch.ops.higher_order.")
        if name == "run_and_save_rng_state":
            operator, *args = node.args
            with graph.inserting_before(node):
                parts = (graph.call_function(torch_library().random.get_rng_state), _call(graph, operator, args, node))
            for taken in list(node.users):
                part = parts[taken.args[1]]
                part.meta = dict(taken.meta)
                taken.replace_all_uses_with(part)
                graph.erase_node(taken)
            graph.erase_node(node)
        elif name == "run_with_rng_state":
            state, operator, *args = node.args
            with graph.inserting_before(node), state.meta["val"].fake_mode:
                drawing = _call(graph, operator, args, node)
                values = operator(*described(drawing.args), **described(drawing.kwargs))
            drawing.meta = {**node.meta, "val": values, _STATE: state}
            node.replace_all_uses_with(drawing)
            graph.erase_node(node)


def _call(graph: Any, operator: Any, args: Sequence[Any], like: Any) -> Any:
    return graph.call_function(operator, tuple(args), like.kwargs)


def _plain(node: Any, given: Any) -> Draw:
    given.meta["val"] = node.meta["val"]
    node.replace_all_uses_with(given)
    return Draw(node.target, described(node.args), described(node.kwargs))


def _dropout(graph: Any, node: Any, given: Any) -> Draw:
    """Elements that are kept, as PyTorch draws them where it does not compile, times what makes up for the others."""
    aten = torch_library().ops.aten
    x, p = node.args[0], node.args[1]
    values = node.meta["val"]
    given.meta["val"] = values[1]
    with graph.inserting_before(node):
        kept = graph.call_function(aten.mul.Tensor, (x, given))
        scaled = graph.call_function(aten.mul.Tensor, (kept, 1 / (1 - p)))
    for made in (kept, scaled):
        made.meta = {**node.meta, "val": values[0]}
    for user in list(node.users):
        user.replace_all_uses_with(given if user.args[1] else scaled)
        graph.erase_node(user)
    return Draw(_kept, (described(x), 1 - p), {})


def _kept(x: Any, share: float) -> Any:
    return x.bernoulli_(share).bool()


def described(argument: Any) -> Any:
    """An argument with what PyTorch says of its nodes in their places."""
    if isinstance(argument, (tuple, list)):
        return type(argument)(described(a) for a in argument)
    if isinstance(argument, dict):
        return {name: described(a) for name, a in argument.items()}
    return argument.meta["val"] if isinstance(argument, torch_library().fx.Node) else argument


def drawn(draws: Sequence[Draw], placeholders: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """The tensors of one call, whose inputs say what the symbols of sizes are."""
    if not draws:
        return []
    sizes = sizes_of(placeholders, given)
    return [_made(d, sizes, dict(zip(placeholders, given, strict=True))) for d in draws]


def _made(draw: Draw, sizes: Mapping[Any, int], given: Mapping[Any, Any]) -> Any:
    args, kwargs, random = filled(draw.args, sizes), filled(draw.kwargs, sizes), torch_library().random
    if draw.state is None:
        return draw.make(*args, **kwargs)
    with random.fork_rng(devices=[]):
        random.set_rng_state(given[draw.state])
        return draw.make(*args, **kwargs)


def sizes_of(placeholders: Sequence[Any], given: Sequence[Any]) -> dict[Any, int]:
    """Symbols by the inputs that have them as a number or a size."""
    torch = torch_library()
    found: dict[Any, int] = {}
    for node, value in zip(placeholders, given, strict=True):
        if value is None:  # a token, by which PyTorch keeps checks in order
            continue
        expected = node.meta["val"]
        whole = isinstance(expected, torch.Tensor)
        pairs = zip(expected.shape, value.shape, strict=True) if whole else ((expected, value),)
        found.update((e.node.expr, int(v)) for e, v in pairs if isinstance(e, torch.SymInt) and e.node.expr.is_Symbol)
    return found


def symbols_of(placeholders: Sequence[Any]) -> set[Any]:
    """The symbols that `sizes_of` finds."""
    torch = torch_library()
    values = [n.meta["val"] for n in placeholders]
    sizes = [s for v in values for s in (v.shape if isinstance(v, torch.Tensor) else (v,))]
    return {s.node.expr for s in sizes if isinstance(s, torch.SymInt) and s.node.expr.is_Symbol}


def filled(argument: Any, sizes: Mapping[Any, int]) -> Any:
    """An argument of this call: tensors are empty ones, as only their shape and the order of their axes count."""
    torch = torch_library()
    if isinstance(argument, (tuple, list)):
        return type(argument)(filled(a, sizes) for a in argument)
    if isinstance(argument, dict):
        return {name: filled(a, sizes) for name, a in argument.items()}
    if isinstance(argument, torch.Tensor):
        shape, strides = (tuple(filled(n, sizes) for n in each) for each in (argument.shape, argument.stride()))
        return torch.empty_like(torch.empty_strided(shape, strides, dtype=argument.dtype))
    if isinstance(argument, torch.SymInt):
        return int(argument.node.expr.xreplace(sizes))
    return argument
