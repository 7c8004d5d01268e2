"""The encoder of the embedding example: one compiled function serves every size, and agrees with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import baton
from examples.embed.config import Config, Weights
from examples.embed.numpy_encoder import NumpyEncoder

CONFIG = Config(layers=2, hidden=24, heads=3, epsilon=1e-12)
VOCABULARY, POSITIONS = 50, 32


def random_weights() -> Weights:
    """Weights of a small encoder by the names of the real one's."""
    rng = np.random.default_rng(0)
    hidden, inner = CONFIG.hidden, 4 * CONFIG.hidden
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (VOCABULARY, hidden),
        "embeddings.position_embeddings.weight": (POSITIONS, hidden),
        "embeddings.token_type_embeddings.weight": (2, hidden),
    }
    dense = {f"attention.self.{part}": (hidden, hidden) for part in ("query", "key", "value")}
    dense |= {"attention.output.dense": (hidden, hidden)}
    dense |= {"intermediate.dense": (inner, hidden), "output.dense": (hidden, inner)}
    for layer in (f"encoder.layer.{number}" for number in range(CONFIG.layers)):
        for name, shape in dense.items():
            shapes |= {f"{layer}.{name}.weight": shape, f"{layer}.{name}.bias": shape[:1]}
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{layer}.{norm}.{part}": (hidden,) for part in ("weight", "bias")}
    shapes |= {f"embeddings.LayerNorm.{part}": (hidden,) for part in ("weight", "bias")}
    return {name: (rng.standard_normal(shape) * 0.5).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture(scope="module")
def encoders() -> tuple[baton.Model, NumpyEncoder]:
    # Imported here, so that a fault in Relax fails these tests and not the collection of all.
    from examples.embed.relax_encoder import build_encoder

    weights = random_weights()
    return baton.compile(build_encoder(CONFIG, weights)), NumpyEncoder(CONFIG, weights)


@pytest.mark.parametrize(("batch", "sequence"), [(1, 1), (1, 9), (5, 16), (3, 32)])
def test_compiled_encoder_agrees_with_numpy(
    encoders: tuple[baton.Model, NumpyEncoder], batch: int, sequence: int
) -> None:
    model, reference = encoders
    rng = np.random.default_rng(batch * 100 + sequence)
    ids = rng.integers(0, VOCABULARY, (batch, sequence))
    mask = (np.arange(sequence) < rng.integers(1, sequence + 1, (batch, 1))).astype(np.int64)
    (embedding,) = model.run({"ids": ids, "mask": mask})
    np.testing.assert_allclose(np.asarray(embedding), reference(ids, mask), atol=1e-5)
