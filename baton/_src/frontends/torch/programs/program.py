"""An exported program made plain: no operator writes into a tensor, and what has no converter is taken apart.

PyTorch does both (`ExportedProgram.run_decompositions`): in-place operators become their pure forms, views copies,
changed buffers results. Operators of our table stay whole; the others become operators of PyTorch's core set where
PyTorch knows how.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import Any

from baton._src.frontends.torch.complex.decompositions import has_complex
from baton._src.frontends.torch.guards import bounds_of, sources_of
from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.decompositions import decompositions
from baton._src.frontends.torch.programs.flexible_attention import write_out_attention
from baton._src.frontends.torch.sizes import SIZES
from baton._src.frontends.torch.symbols import unseen
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail

_FRAME = re.compile(r'File "([^"]+)", line (\d+), in [^\n]*\n\s*([^\n]*)')
SOURCE = "baton.source"
"""What a node's annotation calls the line of the program that it comes from, where PyTorch itself does not see it."""
_KINDS = {"PARAMETER", "BUFFER", "CONSTANT_TENSOR"}
_STATE = {"PARAMETER_MUTATION", "BUFFER_MUTATION"}
"""Results that are what a weight becomes."""


@dataclass(frozen=True)
class Weight:
    """A parameter, buffer or constant: its placeholder, its name in the module, whether it is trained, its elements.

    `is_changed`: the program gives it new elements, which are a result.
    """

    placeholder: str
    target: str
    is_parameter: bool
    tensor: Any
    is_changed: bool = False

    @property
    def is_bound(self) -> bool:
        """Whether it can only be a constant: functions take no complex tensors."""
        return bool(self.tensor.is_complex()) and not self.is_changed


@dataclass(frozen=True)
class Program:
    """A plain exported program, read.

    `inputs`: the placeholders of the user's tensors, in order. `outputs`: nodes, or constants. `numbers`: placeholders
    of sizes, which are read from the shapes of the inputs; those `unseen` there are inputs, too: a tensor without
    elements for each, whose first axis is as long as the number is far from zero. `bounds`, `guards`: what the sizes of
    the inputs are to be (`guards`), in which they are named as `sources` has them. `sizes`: what symbols are to be,
    which stay open otherwise.
    """

    graph: Any
    module: Any
    inputs: tuple[Any, ...]
    weights: tuple[Weight, ...]
    outputs: tuple[Any, ...]
    numbers: tuple[Any, ...] = ()
    bounds: Mapping[Any, tuple[int, int | None]] = field(default_factory=dict)
    guards: tuple[str, ...] = ()
    sources: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[Any, int] = field(default_factory=dict)

    @property
    def unseen(self) -> tuple[Any, ...]:
        """The numbers that the shapes of the inputs do not tell."""
        return unseen(self.numbers, self.inputs)

    @property
    def calls(self) -> list[Any]:
        """All calls, those of graphs within the graph too."""
        graphs = [m.graph for m in self.module.modules() if isinstance(m, torch_library().fx.GraphModule)]
        return [n for graph in graphs for n in graph.nodes if n.op == "call_function"]

    @property
    def branches(self) -> bool:
        """Whether what is computed depends on tensors: `torch.cond` and its like."""
        return any(name_of(n.target).startswith("torch.ops.higher_order.") for n in self.calls)


def read_program(exported: Any, supported: Collection[str]) -> Program:
    """The program with operators named in `supported` left whole.

    What inputs that it changes become are results behind its own, in the order of the inputs; behind these, what it
    makes of its state (caches of keys and values, counters, running statistics), in the order of the changed weights.
    """
    if not hasattr(exported, "graph_signature"):
        help = "torch.export.export(model.eval(), (example,)) makes one of a module"
        raise fail("torch-model", f"an exported program is needed, got {type(exported).__name__}", help=help)
    plain = _plain(exported, supported)
    write_out_attention(plain.graph_module, lambda: decompositions(supported))
    take_in_checks(plain.graph)
    _forget_offsets(plain.graph)
    signature = plain.graph_signature
    changed = [s.target for s in signature.output_specs if s.kind.name in _STATE]
    placeholders = {n.name: n for n in plain.graph.nodes if n.op == "placeholder"}
    inputs, weights = [], []
    for spec in signature.input_specs:
        kind, name = spec.kind.name, getattr(spec.arg, "name", "")
        if kind in _KINDS:
            is_changed = spec.target in changed
            weights.append(Weight(name, spec.target, kind == "PARAMETER", _weight(plain, spec), is_changed))
        elif kind == "TOKEN":
            _check_without_effects(plain.graph)
        elif kind != "USER_INPUT":
            raise fail("torch-input", f"input {name!r} is a {kind.lower()}, which is not supported")
        elif type(spec.arg).__name__ == "TensorArgument":
            inputs.append(placeholders[name])
        elif type(spec.arg).__name__ != "ConstantArgument":
            help = "pass sizes as shapes of tensors: numbers as inputs are fixed by torch.export unless made dynamic"
            raise fail("torch-input", f"input {name!r} is a number that is open, which is not supported", help=help)
    return Program(
        plain.graph, plain.graph_module, tuple(inputs), tuple(weights), _results(plain, weights),
        bounds=bounds_of(plain), guards=tuple(plain._guards_code), sources=sources_of(plain, placeholders),
    )  # fmt: skip


def read_graph(module: Any) -> Program:
    """A graph module of aten operators, plain already; its own tensors are weights."""
    tokens = {effect.args[0] for effect in _effects(module.graph)}
    take_in_checks(module.graph)
    _check_without_effects(module.graph)
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder" and n not in tokens]
    tensor = torch_library().Tensor
    inputs = tuple(n for n in placeholders if isinstance(n.meta["val"], tensor))
    numbers = tuple(n for n in placeholders if not isinstance(n.meta["val"], tensor))
    if any(isinstance(n.meta["val"], torch_library().SymInt) and n.meta["val"].node.is_nested_int() for n in numbers):
        help = "pass its values() and offsets(), or a padded tensor and a mask"
        raise fail("torch-input", "an input is a nested tensor (torch.nested): they are not supported", help=help)
    (results,) = [n.args[0] for n in module.graph.nodes if n.op == "output"]
    return Program(module.graph, module, inputs, (), tuple(results), numbers)


def with_weights(program: Program, tensors: Mapping[str, Any]) -> Program:
    """The program with these of its inputs (tensors by placeholder) as weights."""
    inputs = tuple(n for n in program.inputs if n.name not in tensors)
    return replace(program, inputs=inputs, weights=tuple(Weight(n, n, False, t) for n, t in tensors.items()))


_WITHOUT_EFFECT = (
    "compute what it needs before and pass it as an input; through torch.compile put it into a function "
    "under torch.compiler.disable, which PyTorch runs itself"
)


_CHECK = "aten._linalg_check_errors.default"


def take_in_checks(graph: Any) -> None:
    """Let operators check themselves what PyTorch checks behind them: `linalg.inv` is `linalg_inv_ex` and a look at the
    numbers that tell which matrices have no inverse, kept in order by tokens in some programs."""
    for node in [n for n in graph.nodes if n.op == "call_function"]:
        operator = checked_by(node)
        if operator is None:
            continue
        operator.kwargs = {**operator.kwargs, "check_errors": True}
        if name_of(node.target).endswith(".with_effects"):
            for token in list(node.users):
                token.replace_all_uses_with(node.args[0])
                graph.erase_node(token)
        graph.erase_node(node)


def checked_by(node: Any) -> Any:
    """The call of an operator that checks itself what this call checks; None if there is none."""
    effect = name_of(node.target).endswith(".with_effects")
    checker, *rest = node.args[1:] if effect else (node.target, *node.args)
    if str(checker) != _CHECK:
        return None
    operator = rest[0].args[0]
    return operator if any(a.name == "check_errors" for a in operator.target._schema.arguments) else None


def _forget_offsets(graph: Any) -> None:
    """Drop what is asked of the places of tensors in memory, which are the compiler's: nothing else follows from it."""
    asked = [n for n in graph.nodes if name_of(n.target) == "aten.sym_storage_offset.default"]
    for node in asked:  # grows by what uses them
        asked.extend(user for user in node.users if user not in asked)
    if all(not n.users for n in asked if name_of(n.target) not in (*SIZES, "aten.sym_storage_offset.default")):
        for node in reversed([n for n in graph.nodes if n in asked]):
            graph.erase_node(node)


def _effects(graph: Any) -> list[Any]:
    """What PyTorch keeps in order by tokens."""
    return [n for n in graph.nodes if n.op == "call_function" and name_of(n.target).endswith(".with_effects")]


def _check_without_effects(graph: Any) -> None:
    """No prints, and no checks but those that operators can make themselves."""
    listed = "; ".join(f"{n.args[1]} ({source_of(n)})" for n in _effects(graph))
    if listed:
        message = f"the program does what is not a function of tensors: {listed}"
        raise fail("torch-effect", message, help=_WITHOUT_EFFECT)


def _weight(plain: Any, spec: Any) -> Any:
    """The tensor: buffers that are not saved with the model stand among the constants."""
    return plain.state_dict[spec.target] if spec.target in plain.state_dict else plain.constants[spec.target]


def _results(plain: Any, weights: Sequence[Weight]) -> tuple[Any, ...]:
    """The program's own results, then what its inputs become, then what its changed weights become."""
    order = {w.target: place for place, w in enumerate(weights)}
    own, inputs, state = [], [], []
    for result, spec in zip(plain.graph.output_node().args[0], plain.graph_signature.output_specs, strict=True):
        match spec.kind.name:
            case "TOKEN":
                pass
            case "USER_INPUT_MUTATION":
                inputs.append(result)
            case kind if kind in _STATE:
                state.append((order[spec.target], result))
            case _:
                own.append(result)
    return *own, *inputs, *(result for _, result in sorted(state, key=lambda changed: changed[0]))


def _plain(exported: Any, supported: Collection[str]) -> Any:
    """The program after decomposition; itself where there is nothing to do.

    Decomposing also takes apart what PyTorch wraps around other graphs: `torch.no_grad()`, `torch.autocast`.
    """
    calls = [n for n in exported.graph.nodes if n.op == "call_function"]
    with_complex = has_complex(exported.graph_module)
    if any(_learns(n) for n in calls):
        supported = set(supported) - _WITH_STATISTICS
    if not with_complex and all(_is_plain(t, supported) for t in {n.target for n in calls}):
        return exported
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return exported.run_decompositions(decompositions(supported, with_complex))
        except DiagnosticError:
            raise
        except Exception as error:  # PyTorch raises errors of many kinds
            reason = str(error).strip().split("\n\n")[0]
            raise fail("torch-export", f"PyTorch cannot decompose the program into core operators: {reason}") from error


_WITH_STATISTICS = {f"aten.{name}.default" for name in ("batch_norm", "instance_norm", "native_batch_norm")}


def _learns(node: Any) -> bool:
    """Whether a norm changes the running statistics that it is given, which its schema does not say."""
    if name_of(node.target) not in _WITH_STATISTICS:
        return False
    _, _, _, mean, _, of_the_batch, *_ = node.args
    return mean is not None and bool(of_the_batch)


def _is_plain(target: Any, supported: Collection[str]) -> bool:
    """Whether a function is one of sizes, or an operator with a converter that changes nothing in place."""
    name, schema = name_of(target), getattr(target, "_schema", None)  # control flow has none, and graphs of its own
    return name in SIZES or (name in supported and schema is not None and not schema.is_mutable)


def name_of(target: Any) -> str:
    """`aten.add.Tensor` for operators; `_operator.add` for Python's functions."""
    if hasattr(target, "_schema") or not hasattr(target, "__module__"):
        return str(target)
    return f"{target.__module__}.{getattr(target, '__name__', target)}"


def source_of(node: Any) -> str:
    """The innermost line of the user's own program that made a node, as `file:line: code`."""
    annotated = (node.meta.get("custom") or {}).get(SOURCE)
    if annotated:
        return str(annotated)
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    own = [f for f in frames if not of_pytorch(f[0])] or frames
    if not own:
        return ""
    path, line, code = own[-1]
    return f"{Path(path).name}:{line}: {code.strip()}"


@cache
def of_pytorch(path: str) -> bool:
    """Whether a file is one of PyTorch's own: each call asks for the whole stack of its lines."""
    return Path(path).is_relative_to(Path(torch_library().__file__).parent)
