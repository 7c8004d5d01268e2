"""`TVMCResult`: what a run gave and how long it took."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from baton._src.driver.tvm_names.tvmc.errors import refuse
from baton._src.runtime.timing import BenchmarkResult
from baton._src.values.tensor import AnyArray


class TVMCResult:
    """`outputs`: arrays by name (`output_0`, ...). `times`: seconds, None where nothing was measured."""

    def __init__(self, outputs: Mapping[str, AnyArray], times: BenchmarkResult | None = None) -> None:
        self.outputs = dict(outputs)
        self.times = times

    def format_times(self) -> str:
        """A table of mean, median, maximum, minimum and standard deviation in milliseconds."""
        return "nothing was measured: run with benchmark=True" if self.times is None else str(self.times)

    def get_output(self, name: str) -> AnyArray:
        """The output of that name."""
        if name not in self.outputs:
            raise refuse(f"there is no output {name!r}", f"there are: {', '.join(self.outputs)}")
        return self.outputs[name]

    def save(self, output_path: str | Path) -> None:
        """Write the outputs to an `.npz` file."""
        np.savez(output_path, **self.outputs)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"{self.format_times()}\nOutput Names:\n {list(self.outputs)}"


def get_top_results(result: TVMCResult, max_results: int) -> AnyArray:
    """The largest values of the first row of `output_0`: an array of shape (2, n), places above values."""
    row = np.atleast_2d(result.get_output("output_0"))
    row = row.reshape(-1, row.shape[-1])[0]
    places = np.argsort(row, kind="stable")[::-1][:max_results]
    return np.array([places, row[places]])
