"""QuantizeCalibrate: determine the parameters of every mark: its step, and the range of its integers.

A threshold t over b bits gives steps of t / 2**(b-1) and integers from -2**(b-1) to 2**(b-1) - 1. Thresholds of weights
are computed from the weights (`weight_scale`); those of data are one for all (`global_scale`), or computed from the
values that a data set produces there (`kl_divergence`, `percentile`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from baton._src.ir.module import IRModule
from baton._src.ops.quant.simulated import INPUT, WEIGHT
from baton._src.passes.relay.building import Build, is_call
from baton._src.passes.relay.quantize.annotate import marks_of
from baton._src.passes.relay.quantize.config import QConfig, current_qconfig
from baton._src.passes.relay.quantize.thresholds import largest, least_divergence, percentile, power_of_two
from baton._src.relay.analysis import free_vars
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.expressions import rewrite, walk, with_parts
from baton._src.relay.nodes import Function, Let, Tuple
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.tensor import AnyArray

Dataset = Iterable[Mapping[str, Any]]
Runner = Callable[[IRModule], Callable[[Mapping[str, Any]], Sequence[AnyArray]]]
"""Compiles a module whose `main` returns a tuple, and runs it on named inputs."""


@dataclass(frozen=True)
class QuantizeCalibrate(Pass):
    """See the module. `runner` computes what a data set makes; modes that need none may leave it out.

    Errors (`relay-quantize`): a mode that asks for a data set without one, or with an empty one, or for layers inside
    of other functions; weights that are not finite.
    """

    opt_level: ClassVar[int] = 1
    dataset: Any = None
    runner: Runner | None = None

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        config, main = current_qconfig(), module["main"]
        marks = marks_of(main)
        read = iter(self._thresholds(module, config))
        found = {m: next(read) if m.attrs.kind == INPUT else _weight_threshold(m, config) for m in marks}
        build = Build()

        def rule(old: Any, new: Any) -> Any:
            if old not in found:
                return None
            half = float(1 << (config.bits(old.attrs.kind == WEIGHT) - 1))
            numbers = (build.const(v, "float32") for v in (found[old] / half, -half, half - 1))
            return build.call(new.with_fields(args=(new.args[0], *numbers)))

        functions = {v: rewrite(f, rule) if f is main else f for v, f in module.functions.items()}
        return infer_type(module.with_functions(functions))

    def _thresholds(self, module: IRModule, config: QConfig) -> Iterator[float]:
        """One for each mark of data, in order."""
        if config.calibrate_mode == "global_scale":
            return iter([config.global_scale] * len(marks_of(module["main"])))
        if self.dataset is None or self.runner is None:
            help = "quantize(mod, params, dataset=[{'input': array}, ...])"
            raise fail("relay-quantize", f"calibrate_mode {config.calibrate_mode!r} needs a data set", help=help)
        choose = least_divergence if config.calibrate_mode == "kl_divergence" else percentile
        return map(choose, collect_stats(module, self.dataset, self.runner, config.calibrate_chunk_by))


def _weight_threshold(mark: Any, config: QConfig) -> float:
    values = mark.args[0].data.data
    if not np.isfinite(values).all():
        raise fail("relay-quantize", "weights that are infinite, or no numbers, have no steps", span=mark.span)
    return power_of_two(values) if config.weight_scale == "power2" else largest(values)


def collect_stats(module: IRModule, dataset: Dataset, runner: Runner, chunk_by: int = -1) -> Iterator[AnyArray]:
    """For every mark of data, in order, all the values that `dataset` produces there, flat.

    `chunk_by`: collect so many marks per run over the data set, to save memory; -1: all.
    """
    main = module["main"]
    watched = _without_marks(main)
    size = chunk_by if chunk_by > 0 else max(len(watched), 1)
    batches = list(dataset)
    if not batches and watched:
        raise fail("relay-quantize", "the data set is empty", help="a batch is a dict from names to arrays")
    for start in range(0, len(watched), size):
        body = Tuple(watched[start : start + size])
        function = Function(main.params, body, None, main.type_params, main.attrs)
        functions = {v: function if f is main else f for v, f in module.functions.items()}
        run = runner(infer_type(module.with_functions(functions)))
        runs = [[np.asarray(value).reshape(-1) for value in run(batch)] for batch in batches]
        for values in zip(*runs):
            yield np.concatenate(values)


def _without_marks(function: Function) -> list[Any]:
    """The values that are marked, as the function computes them without any marks and lets. Error `relay-quantize`: one
    that depends on the parameters of a function inside, or on what a match binds."""
    order = walk(function)  # a let's value comes before its body, so before every use of the variable
    bound = {n.var: n.value for n in order if isinstance(n, Let)}
    found: list[Any] = []
    done: dict[Any, Any] = {}
    for node in order:
        if isinstance(node, Let):
            made = done.get(node.body, node.body)
        elif node in bound:
            made = done.get(bound[node], bound[node])
        else:
            made = with_parts(node, done)
        if is_call(node, "simulated_quantize"):
            made = made.args[0]
            if node.attrs.kind == INPUT:
                found.append(made)
        if made is not node:
            done[node] = made
    inner = set(free_vars(Tuple(found))).difference(function.params)
    if inner:
        names = ", ".join(sorted(f"%{v.name_hint}" for v in inner))
        help = 'calibrate_mode="global_scale" needs no data; or inline the function'
        raise fail("relay-quantize", f"a layer reads {names}, which a data set for main does not give", help=help)
    return found
