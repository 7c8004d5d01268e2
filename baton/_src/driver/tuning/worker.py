"""`python -m baton._src.driver.tuning.worker`: the measuring process. It says that it is ready; then each input line is
a trial or run, each output line its answer.

What crashes or hangs here costs one candidate: whoever waits for the line ends the process and starts another.
"""

from __future__ import annotations

import json
import os
import sys

from baton._src.driver.tuning.answer_run import References, ran, ran_library
from baton._src.driver.tuning.child import READY
from baton._src.driver.tuning.runs import LibraryRun, Run, Times
from baton._src.driver.tuning.task import Outcome, Trial
from baton._src.driver.tuning.trial import Variants, measured


def answer(line: str, variants: Variants) -> Outcome:
    """The outcome of a trial as text; a failure is an outcome, too."""
    try:
        return measured(Trial.from_data(json.loads(line)), variants)
    except Exception as error:
        return Outcome(error=f"{type(error).__name__}: {error}"[:500])


def times(line: str, references: References) -> Times:
    """The result of a run as text; a failure is a result, too."""
    data = json.loads(line)
    try:
        if "library" in data:
            return ran_library(LibraryRun.from_data(data), references)
        return ran(Run.from_data(data), references)
    except Exception as error:
        return Times(error=f"{type(error).__name__}: {error}"[:500])


def main() -> None:
    """Answer requests until the input ends. Standard output carries outcomes only."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # other output goes to standard error
    variants, references = Variants(), References()
    out.write(READY)
    out.flush()
    for line in sys.stdin:
        is_run = "task" not in json.loads(line)
        found = times(line, references) if is_run else answer(line, variants)
        out.write(found.to_text() + "\n")
        out.flush()


if __name__ == "__main__":
    main()
