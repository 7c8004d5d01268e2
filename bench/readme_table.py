"""The rows of docs/performance.json that the README shows, between two marks: `python -m bench.readme_table`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from baton._src.tools.benchmark.report import seconds_text

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- speed: written by make bench -->\n", "<!-- end of speed -->\n"
ROWS = {
    "resnet50": "ResNet-50",
    "mobilenetv2": "MobileNetV2",
    "bert_base": "BERT base, 128 tokens",
    "decoder_step 512": "a step of a language model",
    "mlp": "small MLP",
}
"""Models by their names in the benchmark, and what the README calls them."""
RUNTIMES = ("baton", "onnxruntime", "openvino", "torch")


def table(data: dict[str, Any]) -> str:
    """One thread of each model, a column a runtime."""
    facts, by_model = data["environment"], {r["model"]: r for r in data["results"] if r["threads"] == 1}
    lines = [
        f"Median time of a run on one thread of an {facts['cpu']}, {facts['date']}. `make bench` measures",
        "[all models](docs/performance.md) and [kernels](docs/kernels.md) on your machine;",
        "[compile time](docs/compile-time.md) is measured apart.",
        "",
        f"| | {' | '.join(RUNTIMES)} |",
        f"|---|{'--:|' * len(RUNTIMES)}",
    ]
    for model, name in ROWS.items():
        medians = {r["name"]: r["median_seconds"] for r in by_model[model]["runtimes"]}
        cells = [seconds_text(medians[r]) if r in medians else "" for r in RUNTIMES]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def write_table() -> None:
    """Put the table of the last whole run into the README."""
    readme = ROOT / "README.md"
    before, rest = readme.read_text().split(BEGIN)
    after = rest.split(END)[1]
    data = json.loads((ROOT / "docs" / "performance.json").read_text())
    readme.write_text(f"{before}{BEGIN}{table(data)}{END}{after}")


if __name__ == "__main__":
    write_table()
