"""Measurements as Markdown and JSON."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from baton._src.ir.cpu import model_name
from baton._src.tools.benchmark.footprint import Footprint
from baton._src.tools.benchmark.rounds import Comparison

_MEMORY = """Each model in a fresh process, nothing cached: seconds until its first result is there; resident memory
beyond the process before, at the peak of loading / at the peak of a run."""


def seconds_text(seconds: float) -> str:
    """A duration in the unit that suits it."""
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def markdown(comparisons: Sequence[Comparison]) -> str:
    """A table: a row per model and thread count, a column per runtime, and the ratio of the best peer to baton."""
    names = list(dict.fromkeys(r.name for c in comparisons for r in c.runtimes))
    lines = ["| model | threads | " + " | ".join(names) + " | best peer / baton | largest difference |"]
    lines.append("|" + "---|" * (len(names) + 4))
    for comparison in comparisons:
        by_name = {r.name: r for r in comparison.runtimes}
        cells = [seconds_text(by_name[n].median) if n in by_name else "—" for n in names]
        ratio = comparison.ratio()
        own = by_name.get("baton")
        difference = "—" if own is None or len(by_name) == 1 else f"{own.difference:.1e}"
        lines.append(
            f"| {comparison.model} | {comparison.threads} | {' | '.join(cells)} | "
            f"{'—' if ratio is None else f'{ratio:.2f}'} | {difference} |"
        )
    return "\n".join(lines)


def memory_table(comparisons: Sequence[Comparison]) -> str:
    """A table of cold loading and memory: seconds, peak while loading / peak of a run, a column per runtime."""
    measured = [c for c in comparisons if any(r.footprint for r in c.runtimes)]
    names = list(dict.fromkeys(r.name for c in measured for r in c.runtimes))
    lines = ["| model | " + " | ".join(names) + " |", "|" + "---|" * (len(names) + 1)]
    for comparison in measured:
        cells = {r.name: _footprint_text(r.footprint) for r in comparison.runtimes if r.footprint is not None}
        lines.append(f"| {comparison.model} | " + " | ".join(cells.get(n, "—") for n in names) + " |")
    return "\n".join(lines)


def _footprint_text(found: Footprint) -> str:
    peaks = " / ".join(f"{size / 1e6:.0f}" for size in (found.load_peak, found.run_peak))
    return f"{seconds_text(found.load_seconds)}, {peaks} MB"


def environment(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """What every measurement depends on: date, processor, versions."""
    versions = {r.name: r.version for c in comparisons for r in c.runtimes}
    return {
        "date": date.today().isoformat(),
        "cpu": model_name(),
        "python": platform.python_version(),
        "versions": versions,
    }


def to_json(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Everything that was measured."""
    return {
        "environment": environment(comparisons),
        "results": [
            {
                "model": c.model, "threads": c.threads, "ratio": c.ratio(), "left_out": c.left_out,
                "runtimes": [
                    {
                        "name": r.name, "load_seconds": r.load_seconds, "median_seconds": r.median,
                        "difference": r.difference if math.isfinite(r.difference) else "Infinity", "samples": r.samples,
                        "footprint": None if r.footprint is None else asdict(r.footprint),
                    }
                    for r in c.runtimes
                ],
            }
            for c in comparisons
        ],
    }  # fmt: skip


def left_out_list(comparisons: Sequence[Comparison]) -> str:
    """Which runtimes could not take which models, and why."""
    why: dict[tuple[str, str], list[str]] = {}
    for comparison in comparisons:
        for name, reason in comparison.left_out.items():
            models = why.setdefault((name, reason.split("\n", 1)[0]), [])
            if comparison.model not in models:
                models.append(comparison.model)
    return "\n".join(f"- {name} without {', '.join(models)}: {reason}" for (name, reason), models in why.items())


def disagreement_list(comparisons: Sequence[Comparison]) -> str:
    """Which runtimes' outputs differ from the first peer's by more than rounding."""
    return "\n".join(
        f"- {c.model}, {c.threads} thread(s): {name} differs from {c.reference()} by {by:.1e}"
        for c in comparisons
        for name, by in c.disagreements().items()
    )


def write(comparisons: Sequence[Comparison], page: Path | None, data: Path | None) -> None:
    """Write the page and the data to the given paths."""
    if page is not None:
        facts = environment(comparisons)
        versions = ", ".join(f"{n} {v}" for n, v in facts["versions"].items())
        head = f"# Performance\n\nMeasured on {facts['date']}, {facts['cpu']}, Python {facts['python']}: {versions}.\n"
        text = f"{head}Written by `make bench`; medians of interleaved rounds.\n\n{markdown(comparisons)}\n"
        if reasons := left_out_list(comparisons):
            text += f"\nNot measured:\n\n{reasons}\n"
        if differing := disagreement_list(comparisons):
            text += f"\nOutputs that differ:\n\n{differing}\n"
        if any(r.footprint for c in comparisons for r in c.runtimes):
            text += f"\n## Loading and memory\n\n{_MEMORY}\n\n{memory_table(comparisons)}\n"
        page.write_text(text)
    if data is not None:
        data.write_text(json.dumps(to_json(comparisons), indent=1, allow_nan=False))
