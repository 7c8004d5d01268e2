"""PyTorch to Relax: `from_exported_program` and `from_fx`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from baton._src.frontends.graph_builder.relax_graph import RelaxGraph
from baton._src.frontends.torch.importer import Importer
from baton._src.frontends.torch.node import Converter
from baton._src.frontends.torch.programs.program import Program, Weight, read_program
from baton._src.frontends.torch.programs.tracing import exported_module
from baton._src.frontends.torch.programs.user_functions import UserConverter, held_whole
from baton._src.frontends.torch.table import CONVERTERS
from baton._src.frontends.torch.tensors import array_of
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import substitute
from baton._src.tir.expr import Var
from baton._src.values.tensor import array


def from_exported_program(
    exported_program: Any,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
) -> IRModule:
    """Import a `torch.export.ExportedProgram` as a Relax module with the function `main`.

    Weights become constants; with `keep_params_as_input` the parameters follow the inputs (whose number is the
    attribute `num_input`), their values in the function's attribute `params`. The results are a tuple, unless there is
    one and `unwrap_unit_return_tuple`; `no_bind_return_tuple` leaves the tuple without a name of its own. Symbolic
    sizes keep PyTorch's names (`s0`, ...).

    A function has no state: state that the program changes (a KV cache, a counter) becomes additional inputs at the
    end, and its new values are the last results, in the same order. `exported_program.state_dict` has the initial
    values; pass the returned values to the next call.

    Raises `DiagnosticError`: all unsupported operators at once (`torch-unsupported-op`), or an error of an operator,
    naming its source line.
    """
    program = read_program(exported_program, CONVERTERS)
    kept = [(w.placeholder, w.placeholder) for w in program.weights if keep_params_as_input and _is_kept(w)]
    inputs = _inputs(program, [n.name for n in program.inputs])
    count = len(inputs) if keep_params_as_input else None
    module = _imported(program, [*inputs, *kept], count, unwrap_unit_return_tuple, not no_bind_return_tuple)
    return _with_params(module, program, kept) if keep_params_as_input else module


def from_fx(
    model: Any,
    input_info: Sequence[tuple[Sequence[Any], str]],
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    custom_convert_map: Mapping[str, UserConverter] | None = None,
) -> IRModule:
    """Import a `torch.fx.GraphModule` whose inputs have these shapes and dtypes, as a Relax module.

    Sizes that are variables are these variables in the module, too. The inputs are called `inp_0`, `inp_1`, ...; with
    `keep_params_as_input` the parameters follow them, sorted by name. A single result is no tuple unless the graph
    returns one. `custom_convert_map` gives custom converters of functions that the graph calls (`relu` for torch.relu):
    from the node and a context (`env`: the expressions of nodes, `block_builder`, `retrieve_args`) to a Relax
    expression. Errors as for `from_exported_program`.
    """
    own: dict[str, Converter] = {}
    if custom_convert_map and hasattr(model, "graph"):
        model, own, _library = held_whole(model, custom_convert_map)
    converters = {**CONVERTERS, **own}
    exported, is_tuple = exported_module(model, input_info)
    program = read_program(exported, converters)
    weights = sorted((w for w in program.weights if _is_kept(w)), key=lambda w: w.target)
    kept = [(w.placeholder, w.target.replace(".", "_")) for w in weights] if keep_params_as_input else []
    inputs = _inputs(program, [f"inp_{k}" for k in range(len(program.inputs))])
    unwrap = not is_tuple or unwrap_unit_return_tuple
    count = len(inputs) if keep_params_as_input else None
    module = _imported(program, [*inputs, *kept], count, unwrap, not no_bind_return_tuple, converters)
    module = _with_given_sizes(module, [shape for shape, _ in input_info])
    return _with_params(module, program, kept) if keep_params_as_input else module


def _with_given_sizes(module: IRModule, shapes: Sequence[Sequence[Any]]) -> IRModule:
    """The module with the variables that the user gave as sizes of inputs, in place of PyTorch's."""
    main = module.get_global_var("main")
    params: Any = module[main].params
    given = [pair for shape, param in zip(shapes, params) for pair in zip(shape, param.struct_info.shape.values)]
    own = {found: size for size, found in given if isinstance(size, Var) and isinstance(found, Var)}
    wide = {found: size if size.dtype == found.dtype else Var(size.name, found.dtype) for found, size in own.items()}
    return module.with_function(main, substitute(module[main], wide)) if wide else module


def imported(program: Program, outputs: Sequence[Any]) -> IRModule:
    """Import a program that is read already, with the given nodes as results: a tuple, whatever their number.

    Its `unseen` numbers follow the inputs.
    """
    inputs = [(n.name, n.name) for n in (*program.inputs, *program.unseen)]
    return _imported(replace(program, outputs=tuple(outputs)), inputs, None, False, True)


def _inputs(program: Program, names: Sequence[str]) -> list[tuple[str, str]]:
    """The program's inputs under these names, and the state that it changes."""
    own = [(n.name, name) for n, name in zip(program.inputs, names, strict=True)]
    return own + [(w.placeholder, w.placeholder) for w in program.weights if w.is_changed]


def _is_kept(weight: Weight) -> bool:
    return weight.is_parameter and not weight.is_changed and not weight.is_bound


def _imported(
    program: Program, parameters: list[tuple[str, str]], inputs: int | None, unwrap: bool, bind: bool,
    converters: Mapping[str, Converter] = CONVERTERS,
) -> IRModule:  # fmt: skip
    with RelaxGraph(dataflow=not program.branches) as language:  # a block of dataflow has no ways to choose from
        importer = Importer(program, language, converters)
        outputs = [importer.builder.expr(v) for v in importer.run(parameters)]
        return language.finish(outputs, inputs, wrap=not (unwrap and len(outputs) == 1), bind=bind)


def _with_params(module: IRModule, program: Program, kept: list[tuple[str, str]]) -> IRModule:
    tensors = {w.placeholder: w.tensor for w in program.weights}
    main = module.get_global_var("main")
    values = tuple(array(array_of(tensors[placeholder])) for placeholder, _ in kept)
    return module.with_function(main, module[main].with_attr("params", values))
