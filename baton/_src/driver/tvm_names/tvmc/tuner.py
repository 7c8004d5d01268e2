"""`tvmc.tune`: baton's own tuner, its records in a file that `tvmc.compile` takes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from baton._src.driver.relay.executable import bind_known, optimized
from baton._src.driver.relay.graph_fragment import as_graph
from baton._src.driver.tuning.tune import tune
from baton._src.driver.tuning_records.database import Database
from baton._src.driver.tvm_names.tvmc.errors import raising_tvmc, refuse
from baton._src.driver.tvm_names.tvmc.inputs import make_inputs_dict
from baton._src.driver.tvm_names.tvmc.model import TVMCModel, check_model
from baton._src.driver.tvm_names.tvmc.records import check_records
from baton._src.driver.tvm_names.tvmc.targets import target_from_cli
from baton._src.driver.tvm_names.tvmc.transform import GraphChanges
from baton._src.driver.wiring import wire
from baton._src.lower.relay_to_relax.module import lower as lower_relay
from baton._src.transform.context import PassContext

SECONDS = 3600.0
"""When a search ends that has trials left."""
_OPT_LEVEL = 3
"""What `tvmc.compile` builds at by default: records belong to the kernels that come out of it."""


@raising_tvmc
def tune_model(
    tvmc_model: TVMCModel,
    target: Any,
    tuning_records: str | Path | None = None,
    prior_records: str | Path | None = None,
    enable_autoscheduler: bool = False,
    rpc_key: str | None = None,
    hostname: str | None = None,
    port: int | str | None = 9090,
    trials: int = 10000,
    target_host: Any = None,
    tuner: str = "xgb",
    min_repeat_ms: int | None = None,
    early_stopping: int | None = None,
    timeout: int = 10,
    repeat: int = 1,
    number: int = 10,
    parallel: int = 4,
    hardware_params: Any = None,
    include_simple_tasks: bool = False,
    log_estimated_latency: bool = False,
    additional_target_options: Mapping[str, Mapping[str, Any]] | None = None,
    tasks_filter: str | None = "all",
    desired_layout: str | Sequence[str] | None = None,
    desired_layout_ops: Sequence[str] | None = None,
    mixed_precision: bool = False,
    mixed_precision_ops: Sequence[str] | None = None,
    mixed_precision_calculation_type: str | None = None,
    mixed_precision_acc_type: str | None = None,
) -> str:
    """Search better schedules for a model's kernels by measuring them, and give the path of the records.

    At most `trials` measurements are made, of all kernels together, within an hour. `prior_records` are what the search
    starts from. Layouts and precision have to be those that the model is then compiled with.

    There is one tuner, which knows itself how to measure: what chooses among TVM's or steers them (`tuner`,
    `enable_autoscheduler`, `timeout`, `repeat`, `parallel`, ...) is accepted and changes nothing. Other machines,
    described hardware and filters of tasks are a `TVMCException`.
    """
    wire()
    check_model(tvmc_model, "tune")
    if rpc_key or hostname:
        raise refuse("kernels are measured on this machine", "leave out hostname, port and rpc_key")
    if hardware_params is not None or tasks_filter not in (None, "all"):
        raise refuse("hardware_params and tasks_filter are those of TVM's tuners", "leave them out")
    path = Path(tuning_records or tvmc_model.default_tuning_records_path())
    _begin_records(path, prior_records)
    changes = GraphChanges(
        desired_layout, desired_layout_ops, mixed_precision, mixed_precision_ops, mixed_precision_calculation_type,
        mixed_precision_acc_type,
    )  # fmt: skip
    found_target = target_from_cli(target, additional_target_options, target_host)
    with PassContext(opt_level=_OPT_LEVEL):
        module = changes.apply(tvmc_model.mod, tvmc_model.params)
        bound, _ = bind_known(module, tvmc_model.params)
        program = lower_relay(optimized(as_graph(bound)))
    print(tune(program, _feed, seconds=SECONDS, trials=trials, database=path, target=found_target))
    return str(path)


def _begin_records(path: Path, prior_records: str | Path | None) -> None:
    """The file that the search adds to: it starts from `prior_records`, or goes on from what it has."""
    if prior_records and Path(prior_records) != path:
        shutil.copyfile(check_records(prior_records), path)
    elif path.exists():
        check_records(path)
    Database(path).create()  # there are records to compile with even where nothing better was found


def _feed(compiled: Any) -> dict[str, Any]:
    shapes = {spec.name: spec.shape or () for spec in compiled.inputs}
    return make_inputs_dict(shapes, {spec.name: str(spec.dtype) for spec in compiled.inputs})
