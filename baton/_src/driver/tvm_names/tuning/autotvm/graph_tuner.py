"""Graph tuners, which choose a configuration of each kernel for the whole graph.

TVM's weigh kernels against the changes of layout between them. Tuned kernels of baton have the layouts of the program,
so nothing is to be weighed: the fastest configuration of each workload is the choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from baton._src.driver.tvm_names.tuning.autotvm.measure import MeasureInput, MeasureResult
from baton._src.driver.tvm_names.tuning.autotvm.records import encode, fastest, load_from_file
from baton._src.support.diagnostics import fail

Record = tuple[MeasureInput, MeasureResult]


class GraphTuner:
    """Chooses among `records` (a log, or pairs of inputs and results); the program itself is not looked at."""

    def __init__(
        self,
        graph: Any,
        input_shapes: Mapping[str, Sequence[int]],
        records: str | Path | Iterable[Record],
        target_ops: Sequence[Any],
        target: Any,
        **options: Any,
    ) -> None:
        self._records = list(load_from_file(records) if isinstance(records, (str, Path)) else records)
        self._chosen: list[Record] | None = None

    def benchmark_layout_transform(self, min_exec_num: int = 100, **options: Any) -> None:
        """Measures nothing: there are no changes of layout between tuned kernels."""

    def run(self, **options: Any) -> None:
        """Choose."""
        self._chosen = fastest(self._records)

    def get_optimal_records(self) -> list[Record]:
        """The choice, a record for each workload. Error `api`: `run` has not been called."""
        if self._chosen is None:
            raise fail("api", "the graph tuner has chosen nothing yet", help="call run() first")
        return self._chosen

    def write_opt_sch2record_file(self, record_file: str | Path = "graph_opt_schedule.log") -> None:
        """Write the choice as a log, for `autotvm.apply_graph_best`."""
        lines = [encode(*record) + "\n" for record in self.get_optimal_records()]
        Path(record_file).write_text("".join(lines), encoding="utf-8")


class DPTuner(GraphTuner):
    """TVM's tuner by dynamic programming: the choice is the same."""


class PBQPTuner(GraphTuner):
    """TVM's tuner by quadratic programming: the choice is the same."""
