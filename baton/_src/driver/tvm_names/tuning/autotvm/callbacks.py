"""Callbacks that get the results of each batch: logs, a line on the terminal."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from baton._src.driver.tvm_names.tuning.autotvm.measure import Callback, MeasureInput, MeasureResult
from baton._src.driver.tvm_names.tuning.autotvm.records import encode
from baton._src.support.diagnostics import fail

logger = logging.getLogger("autotvm")


def log_to_file(file_out: Any, protocol: str = "json") -> Callback:
    """Appends each measurement to a file, given by its path or open for writing."""

    def write(tuner: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        text = "".join(encode(*pair, protocol) + "\n" for pair in zip(inputs, results))
        if hasattr(file_out, "write"):
            file_out.write(text)
            return
        with Path(file_out).open("a", encoding="utf-8") as stream:
            stream.write(text)

    return write


def log_to_database(db: Any) -> Callback:
    """TVM's databases of servers are none of baton's."""
    raise fail("api", "measurements are kept in files", help="autotvm.callback.log_to_file(path)")


def progress_bar(total: int, prefix: str = "", si_prefix: str = "G") -> Callback:
    """Tells how far tuning is and what was fastest, on one line of standard error.

    Times are told rather than rates: `si_prefix` changes nothing.
    """
    done = 0

    def tell(tuner: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        nonlocal done
        done += len(results)
        end = "\n" if done >= total else ""
        best = f"{tuner.best_seconds * 1e6:.1f} us" if tuner.best_config is not None else "none yet"
        sys.stderr.write(f"\r{prefix} best {best}, {done} of {total} measured{end}")
        sys.stderr.flush()

    return tell


class Monitor:
    """Collects what was measured."""

    def __init__(self) -> None:
        self.scores: list[float] = []
        self.timestamps: list[float] = []

    def __call__(self, tuner: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        for inp, result in zip(inputs, results):
            self.scores.append(inp.task.flop / result.mean if result.error_no == 0 else 0.0)
            self.timestamps.append(result.timestamp)

    def reset(self) -> None:
        """Forget everything."""
        self.scores, self.timestamps = [], []

    def trial_scores(self) -> list[float]:
        """Operations a second of each measurement; 0 for those that failed."""
        return list(self.scores)

    def trial_timestamps(self) -> list[float]:
        """When each measurement was made."""
        return list(self.timestamps)
