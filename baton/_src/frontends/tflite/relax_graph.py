"""TensorFlow Lite to Relax: `from_tflite`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.frontends.graph_builder.relax_graph import RelaxGraph
from baton._src.frontends.tflite.control import BRANCHING
from baton._src.frontends.tflite.importer import Importer
from baton._src.frontends.tflite.inputs import input_infos
from baton._src.frontends.tflite.reader import read_model
from baton._src.frontends.tflite.table import CONVERTERS
from baton._src.ir.module import IRModule


def from_tflite(
    model: object,
    shape_dict: Mapping[str, Sequence[Any]] | None = None,
    dtype_dict: Mapping[str, object] | None = None,
) -> IRModule:
    """Import a TensorFlow Lite model (a path, bytes or a `tflite.Model`) as a Relax module with the function `main`.

    Inputs have their names in the model, weights are constants, several results are a tuple. Sizes that the model
    leaves open are variables (`n0_1` is that of input 0 and axis 1), unless `shape_dict` gives them by the inputs'
    names. Quantised models take and return the integers that the file says; sums of their products are exact. States
    of recurrent layers begin each run as they begin the first.

    Raises `DiagnosticError`: all unsupported operators at once (`tflite-unsupported-op`), what an operator says that is
    not supported (`tflite-unsupported`), other inputs than the model's (`tflite-input`), files that cannot be read
    (`tflite-file`).
    """
    graphs = read_model(model)
    infos = input_infos(graphs[0], shape_dict, dtype_dict, open_sizes=True)
    names = {op.name for graph in graphs for op in graph.operators}
    with RelaxGraph(dataflow=not names & BRANCHING) as language:
        importer = Importer(graphs, language, CONVERTERS, as_stored=not shape_dict)
        outputs = importer.run(infos)
        module = language.finish([importer.builder.expr(v) for v in outputs], len(infos))
    main = module.get_global_var("main")
    names_of = tuple(graphs[0].tensors[place].name for place in graphs[0].outputs)
    return module.with_function(main, module[main].with_attr("output_names", names_of))
