"""`python -m baton._src.driver.tuning.worker`: a process that measures, one trial a line in, one outcome a line out.

What crashes or hangs here costs one candidate: whoever waits for the line ends the process and starts another.
"""

from __future__ import annotations

import json
import os
import sys

from baton._src.driver.tuning.task import Outcome, Trial
from baton._src.driver.tuning.trial import Workshop, measured


def answer(line: str, workshop: Workshop) -> Outcome:
    """The outcome of a trial as text; whatever goes wrong with it is its outcome, too."""
    try:
        return measured(Trial.from_data(json.loads(line)), workshop)
    except Exception as error:
        return Outcome(error=f"{type(error).__name__}: {error}"[:500])


def main() -> None:
    """Serve until the input ends. Standard output is for outcomes only."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints, prints elsewhere
    workshop = Workshop()
    for line in sys.stdin:
        out.write(answer(line, workshop).to_text() + "\n")
        out.flush()


if __name__ == "__main__":
    main()
