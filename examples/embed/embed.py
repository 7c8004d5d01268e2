"""Sentence embeddings by native code, with one compiled function for every batch size and length.

    make embed

Builds the encoder of all-MiniLM-L6-v2 in Relax, compiles it, embeds the sentences of sentences.txt in batches
of like length, checks the embeddings against NumPy, and prints each sentence's nearest neighbour.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from tokenizers import Tokenizer

import baton
from examples.embed.model_files import load_config, load_tokenizer, load_weights, model_folder, tokenize
from examples.embed.numpy_encoder import NumpyEncoder
from examples.embed.relax_encoder import build_encoder

SENTENCES = Path(__file__).with_name("sentences.txt")
TOLERANCE = 1e-4

Encoder = Callable[[np.ndarray, np.ndarray], np.ndarray]


def batches(tokenizer: Tokenizer, sentences: Sequence[str], size: int) -> list[np.ndarray]:
    """Rows of sentences grouped by length, so that little is padded; the last batch may be smaller."""
    lengths = [len(encoding.tokens) for encoding in map(tokenizer.encode, sentences)]
    order = np.argsort(lengths, kind="stable")
    return [order[start : start + size] for start in range(0, len(order), size)]


def embed(encoder: Encoder, tokenizer: Tokenizer, sentences: Sequence[str], size: int = 8) -> np.ndarray:
    """Embeddings of length one, float32 (sentences, hidden)."""
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    for rows in batches(tokenizer, sentences, size):
        parts.append((rows, encoder(*tokenize(tokenizer, [sentences[row] for row in rows]))))
    embeddings = np.empty((len(sentences), parts[0][1].shape[1]), np.float32)
    for rows, values in parts:
        embeddings[rows] = values
    return embeddings


def neighbour_table(sentences: Sequence[str], embeddings: np.ndarray) -> Table:
    """Each sentence with the other one most like it, and the cosine of the angle between them."""
    similarity = embeddings @ embeddings.T
    np.fill_diagonal(similarity, -1.0)
    table = Table(title="Nearest neighbours", title_justify="left")
    table.add_column("sentence")
    table.add_column("nearest")
    table.add_column("similarity", justify="right")
    for sentence, row in zip(sentences, similarity):
        nearest = int(row.argmax())
        table.add_row(sentence, sentences[nearest], f"{row[nearest]:.3f}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=SENTENCES, help="a text file, one sentence a line")
    arguments = parser.parse_args()
    console = Console(highlight=False)
    sentences = [line.strip() for line in arguments.file.read_text(encoding="utf-8").splitlines() if line.strip()]
    if len(sentences) < 2:
        parser.error(f"{arguments.file} has fewer than two sentences")

    folder = model_folder()
    config, weights, tokenizer = load_config(folder), load_weights(folder), load_tokenizer(folder)
    start = time.perf_counter()
    model = baton.compile(build_encoder(config, weights))
    compile_seconds = time.perf_counter() - start

    def native(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return np.asarray(model.run({"ids": ids, "mask": mask})[0])

    start = time.perf_counter()
    embeddings = embed(native, tokenizer, sentences)
    seconds = time.perf_counter() - start
    difference = float(np.abs(embeddings - embed(NumpyEncoder(config, weights), tokenizer, sentences)).max())

    console.print(neighbour_table(sentences, embeddings))
    console.print(f"compiled in {compile_seconds:.2f} s, for any batch and any sequence length")
    console.print(f"{len(sentences)} sentences embedded in {seconds * 1e3:.1f} ms")
    console.print(f"largest difference from NumPy: {difference:.1e}")
    if not difference < TOLERANCE:
        raise SystemExit(f"the embeddings differ from NumPy's by more than {TOLERANCE}")


if __name__ == "__main__":
    main()
