"""`relay.quantize.quantize(mod, params, dataset)`: quantise a float model to int8.

The passes are in `passes/relay/quantize`; here they get a compiler, which calibration over a data set needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from baton._src.driver.relay.executors import create_executor
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.passes.relay.bind_params import bind_params_by_name
from baton._src.passes.relay.fold_constant import FoldConstant
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.operators.canonicalize_ops import CanonicalizeOps
from baton._src.passes.relay.operators.fold_scale_axis import FoldScaleAxis
from baton._src.passes.relay.operators.simplify_inference import SimplifyInference
from baton._src.passes.relay.quantize.annotate import QuantizeAnnotate
from baton._src.passes.relay.quantize.calibrate import Dataset, QuantizeCalibrate
from baton._src.passes.relay.quantize.calibrate import collect_stats as collect
from baton._src.passes.relay.quantize.config import current_qconfig
from baton._src.passes.relay.quantize.realize import QuantizeRealize
from baton._src.relay.nodes import Function
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass, Sequential
from baton._src.values.tensor import AnyArray

_REQUIRED = ("QuantizeAnnotate", "QuantizeCalibrate", "QuantizeRealize")


def quantize(mod: Any, params: Mapping[str, Any] | None = None, dataset: Dataset | None = None) -> IRModule:
    """`mod` (a module, or a function) with its layers on bytes, as `current_qconfig()` says.

    `params` are bound: weights must be known. `dataset`: batches, dicts from the names of inputs to arrays, for the
    calibration modes that ask for them. With `do_simulation` the result stays in floats, rounded as the bytes would be.
    Errors: `relay-quantize`.
    """
    module = prerequisite_optimize(mod, params)
    passes: list[Pass] = [annotate(), calibrate(dataset), InferType()]
    if not current_qconfig().do_simulation:
        passes.append(realize())
    with PassContext(opt_level=3, required_pass=_REQUIRED):
        return Sequential([*passes, FoldConstant()])(module)


def prerequisite_optimize(mod: Any, params: Mapping[str, Any] | None = None) -> IRModule:
    """The module in the form that is quantised: parameters bound, normalisation folded into the layers' weights."""
    wire()
    module = IRModule.from_expr(mod) if isinstance(mod, Function) else mod
    if params:
        bound = bind_params_by_name(module["main"], params)
        module = module.with_functions({v: bound if v.name_hint == "main" else f for v, f in module.functions.items()})
    passes = [SimplifyInference(), FoldConstant(), FoldScaleAxis(), CanonicalizeOps(), FoldConstant()]
    with PassContext(opt_level=3):
        return Sequential(passes)(InferType()(module))


def annotate() -> Pass:
    """The pass that marks what will be integers."""
    return QuantizeAnnotate()


def calibrate(dataset: Dataset | None = None) -> Pass:
    """The pass that finds the scales."""
    return QuantizeCalibrate(None if dataset is None else list(dataset), _compiled)


def realize() -> Pass:
    """The pass that makes integers of marks."""
    return QuantizeRealize()


def collect_stats(mod: IRModule, dataset: Dataset, chunk_by: int = -1) -> Iterator[AnyArray]:
    """For every mark of data in an annotated module all values that the data set makes there, flat."""
    return collect(mod, dataset, _compiled, chunk_by)


def _compiled(module: IRModule) -> Any:
    run = create_executor("vm", mod=module).evaluate()
    names = [p.name_hint for p in module["main"].params]

    def values(batch: Mapping[str, Any]) -> list[AnyArray]:
        return [np.asarray(v.numpy()) for v in run(*(batch[n] for n in names))]

    return values
