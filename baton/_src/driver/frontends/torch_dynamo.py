"""baton as a back end of `torch.compile`, and what TVM calls so in `relax.frontend.torch`.

torch.compile(model, backend="baton")(x)

PyTorch traces the model into graphs of aten operators without side effects (AOTAutograd); each is imported, compiled,
and called with the memory of its tensors. Weights are inputs of these graphs, so training and changed weights are seen;
`torch_graph` can freeze them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from baton._src.driver.compile.compile import compile as compile_model
from baton._src.driver.frontends.torch_graph import CompiledGraph
from baton._src.driver.frontends.torch_pieces import Pieces, pieces_of
from baton._src.driver.wiring import wire
from baton._src.frontends.torch.complex.decompositions import has_complex
from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.decompositions import decompositions
from baton._src.frontends.torch.programs.flexible_attention import write_out_attention
from baton._src.frontends.torch.programs.tracing import weights_of, with_own_weights
from baton._src.frontends.torch.relax_graph import from_fx
from baton._src.frontends.torch.table import CONVERTERS
from baton._src.ir.module import IRModule
from baton._src.passes.pipelines import get_pipeline
from baton._src.support.diagnostics import fail

Backend = Callable[[Any, Sequence[Any]], Any]
_OPTIONS = ("num_threads", "target", "opt_level", "exec_mode", "keep_stages", "freeze")
"""The parameters of `baton.compile` that are not about the model, and what only this back end has."""
_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def baton_backend(
    graph_module: Any, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, mode: str = "default"
) -> Any:
    """The entry point `torch_dynamo_backends` of the package.

    `options`: those of `baton.compile`, by name: `torch.compile(model, backend="baton", options={"num_threads": 1})`.
    `"freeze": True` makes constants of the weights, which are packed once, for inference: a weight that PyTorch sees
    changed is compiled as an input from then on; what is written through `.data` or NumPy is not seen.
    `mode`: PyTorch's four are the same here, as nothing is searched for and no launches are to be saved.
    """
    unknown = [repr(name) for name in options or {} if name not in _OPTIONS]
    if unknown:
        help = f"there are {', '.join(_OPTIONS)}"
        raise fail("torch-option", f"the back end has no option {', '.join(unknown)}", help=help)
    if mode not in _MODES:
        raise fail("torch-option", f"the back end has no mode {mode!r}", help=f"there are {', '.join(_MODES)}")
    return _backend(graph_module, example_inputs, lambda module: module, dict(options or {}))


def relax_dynamo(pipeline: Any = None) -> Backend:
    """A back end for `torch.compile` that applies `pipeline` (a pass, or a pipeline's name) before it compiles."""
    found = get_pipeline(pipeline) if isinstance(pipeline, str) else pipeline

    def backend(graph_module: Any, example_inputs: Sequence[Any]) -> Any:
        return _backend(graph_module, example_inputs, found or (lambda module: module), {})

    return backend


def _backend(
    graph_module: Any, example_inputs: Sequence[Any], change: Callable[[IRModule], IRModule], options: dict[str, Any]
) -> Any:
    wire()
    modules = ("_dynamo.backends.common", "_functorch.aot_autograd", "_subclasses.fake_tensor")
    common, aot, fake = (import_module(f"torch.{m}") for m in modules)
    plain = {name: value for name, value in options.items() if name != "freeze"}
    weights = weights_of(graph_module, example_inputs) if options.get("freeze") else []

    def compiled(graph: Any) -> CompiledGraph:
        return CompiledGraph(graph, lambda m: compile_model(change(m), **plain), weights)

    def compile_graph(graph: Any, inputs: Sequence[Any]) -> Any:
        write_out_attention(graph, lambda: table)
        with fake.unset_fake_temporarily():  # constants of the graph are real
            pieces = pieces_of(graph)
            whole = all(p.compiled for p in pieces)
            return aot.make_boxed_func(compiled(graph) if whole else Pieces(graph, pieces, compiled))

    table = dict(decompositions(CONVERTERS, has_complex(graph_module)))
    attention = torch_library().nn.attention  # PyTorch's own kernels of attention have gradients that are kernels, too
    with attention.sdpa_kernel([attention.SDPBackend.MATH]):
        return common.aot_autograd(fw_compiler=compile_graph, decompositions=table)(graph_module, example_inputs)


def dynamo_capture_subgraphs(model: Any, *params: Any, **kwargs: Any) -> IRModule:
    """The graphs that `torch.compile` makes of a model called with `params`, as functions `subgraph_0`, ...

    `keep_params_as_input`: weights are parameters of the functions, their values in the attribute `params`.
    """
    torch = torch_library()
    keep = bool(kwargs.pop("keep_params_as_input", False))
    functions: dict[str, Any] = {}

    def capture(graph_module: Any, example_inputs: Sequence[Any]) -> Any:
        own, inputs = with_own_weights(graph_module, example_inputs)
        info = [(tuple(t.shape), str(t.dtype)) for t in inputs]
        found = from_fx(own, info, keep_params_as_input=keep, unwrap_unit_return_tuple=True)["main"]
        name = f"subgraph_{len(functions)}"
        functions[name] = found.with_attr("global_symbol", name)
        return graph_module.forward

    torch._dynamo.reset()
    torch.compile(model, backend=capture, dynamic=False)(*params, **kwargs)
    return IRModule(functions)
