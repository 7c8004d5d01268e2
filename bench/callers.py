"""Several Python threads at once: calls a second, of one model and of as many models as there are threads.

    python -m bench.callers [MODEL ...] [--callers 1,2] [--seconds 1]

Every call runs on one thread of its own (`num_threads=1`). Perfect scaling is as many times the calls of one caller as
there are callers, up to the number of cores. Each line also says what sharing one core's work between two threads gains
(`num_threads=2` from one caller).
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Sequence
from typing import Any

import baton
from baton._src.driver.model.model import Model
from bench.models.zoo import ZOO, example_inputs

DEFAULT = ("mlp", "conv", "lstm", "mobilenetv2")


def calls_a_second(models: Sequence[Model], feed: Any, seconds: float, num_threads: int = 1) -> float:
    """One caller for each of `models`, all calling for `seconds`."""
    counts = [0] * len(models)
    begin, end = threading.Barrier(len(models) + 1), threading.Event()

    def work(place: int) -> None:
        model = models[place]
        model.run(feed, num_threads=num_threads)
        begin.wait()
        while not end.is_set():
            model.run(feed, num_threads=num_threads)
            counts[place] += 1

    callers = [threading.Thread(target=work, args=(i,)) for i in range(len(models))]
    for caller in callers:
        caller.start()
    begin.wait()
    start = time.perf_counter()
    time.sleep(seconds)
    end.set()
    for caller in callers:
        caller.join()
    return sum(counts) / (time.perf_counter() - start)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.callers", description="Several Python threads at once.")
    parser.add_argument("models", nargs="*", choices=[*ZOO, []])
    parser.add_argument("--callers", default="1,2")
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    print(
        f"{'model':16}{'callers':>8}{'one model':>14}{'a model each':>14}    calls a second (times those of 1 caller)"
    )
    for name in options.models or DEFAULT:
        entry = ZOO[name]
        proto = entry.model()
        feed = example_inputs(proto, entry.dims)
        counts = [int(n) for n in options.callers.split(",")]
        models = [baton.compile(proto) for _ in range(max(counts))]
        alone = calls_a_second(models[:1], feed, options.seconds)
        for count in counts:
            shared = calls_a_second(models[:1] * count, feed, options.seconds)
            own = calls_a_second(models[:count], feed, options.seconds)
            print(f"{name:16}{count:>8}{_times(shared, alone)}{_times(own, alone)}")
        inside = calls_a_second(models[:1], feed, options.seconds, num_threads=2)
        print(f"{name:16}{'1, on 2':>8}{_times(inside, alone)}")


def _times(calls: float, alone: float) -> str:
    return f"{calls:8.0f} {f'({calls / alone:.2f})':>5}"


if __name__ == "__main__":
    main()
