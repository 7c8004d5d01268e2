"""Compile a small CNN and read 360 handwritten digits with it: what `make run` shows.

The model and the images are those `train.py` has written. The images were held back from the training.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import baton

HERE = Path(__file__).parent
BRIGHTEST = 16
SHADES = " .:-=+*#%@"


def picture(image: np.ndarray) -> str:
    """An 8×8 image of grey levels 0…16 as eight lines of text, two characters a pixel."""
    levels = image.astype(int) * (len(SHADES) - 1) // BRIGHTEST
    return "\n".join("".join(SHADES[level] * 2 for level in row) for row in levels)


def gallery(images: np.ndarray, labels: np.ndarray, probability: np.ndarray) -> Columns:
    """The pictures side by side, each with what was read, how surely, and what it is."""
    panels = []
    for image, label, row in zip(images, labels, probability):
        read = int(row.argmax())
        colour = "green" if read == label else "red"
        caption = f"read {read} ({row[read]:.0%}), is {label}"
        panels.append(Panel(Text(picture(image)), subtitle=caption, border_style=colour, width=24))
    return Columns(panels)


def show_examples(console: Console, images: np.ndarray, labels: np.ndarray, probability: np.ndarray) -> None:
    """A few digits, and some of those misread."""
    console.print(gallery(images[:5], labels[:5], probability[:5]))
    wrong = np.flatnonzero(probability.argmax(axis=1) != labels)
    if len(wrong):
        console.print(f"{len(wrong)} of {len(labels)} were misread, among them:")
        some = wrong[:3]
        console.print(gallery(images[some], labels[some], probability[some]))


def seconds_per_call(model: baton.Model, batch: np.ndarray, budget: float = 0.5) -> float:
    """The median time of a call, from as many calls as fit in `budget` seconds (three at least)."""
    times: list[float] = []
    while sum(times) < budget or len(times) < 3:
        start = time.perf_counter()
        model.run({"image": batch})
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def kernel_table(model: baton.Model, batch: np.ndarray) -> Table:
    """Where the time goes, kernel by kernel, longest first."""
    records = sorted(model.profile({"image": batch}), key=lambda record: -record.seconds)
    total = sum(record.seconds for record in records) or 1.0
    table = Table(title=f"Kernels, one run of {len(batch)} images", title_justify="left")
    for heading in ("kernel", "calls", "µs", "share"):
        table.add_column(heading, justify="left" if heading == "kernel" else "right")
    for record in records:
        share = f"{record.seconds / total:.1%}"
        table.add_row(record.name, str(record.calls), f"{record.seconds * 1e6:.1f}", share)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=None, help="threads to run on (default: all cores)")
    arguments = parser.parse_args()
    console = Console(highlight=False)

    with np.load(HERE / "digits_test.npz") as data:
        images, labels = data["image"], data["label"]
    batch = images[:, None].astype(np.float32) / BRIGHTEST

    start = time.perf_counter()
    model = baton.compile(HERE / "digits.onnx", num_threads=arguments.threads)
    compile_seconds = time.perf_counter() - start

    (probability,) = (np.asarray(output) for output in model.run({"image": batch}))
    right = int((probability.argmax(axis=1) == labels).sum())
    show_examples(console, images, labels, probability)

    summary = Table(show_header=False, box=None)
    summary.add_row("accuracy", f"{right / len(labels):.2%}  ({right} of {len(labels)} held-back images)")
    summary.add_row("compile time", f"{compile_seconds:.2f} s")
    summary.add_row(
        f"time per image, {len(batch)} at once", f"{seconds_per_call(model, batch) / len(batch) * 1e6:.1f} µs"
    )
    summary.add_row("time per image, one at a time", f"{seconds_per_call(model, batch[:1]) * 1e6:.1f} µs")
    console.print(summary)
    console.print(kernel_table(model, batch))


if __name__ == "__main__":
    main()
