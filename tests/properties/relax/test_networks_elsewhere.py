"""Random networks give the same in another process that loads them, and in many threads at once."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.text.printer import script
from baton._src.values.dtype import DataType
from baton._src.values.tensor import array
from tests.at_length import seeds_at_length
from tests.properties.relax.test_networks import agrees, hangs_on_rounding
from tests.relax.networks.network import Network
from tests.relax.networks.random_network import random_network

THREADS, ROUNDS = 4, 6
LOADING = """
import sys
from pathlib import Path
import ml_dtypes, numpy as np
import baton

for artifact in sorted(Path(sys.argv[1]).glob("*.baton")):
    with np.load(artifact.with_suffix(".npz")) as bytes_of:
        dtype = np.dtype(str(bytes_of["dtype"]))
        inputs = [bytes_of[f"arr_{k}"] for k in range(len(bytes_of.files) - 1)]
    inputs = [x.view(dtype)[..., 0] for x in inputs]
    (found,) = baton.load(artifact)(*inputs)
    found = np.ascontiguousarray(found)
    np.save(artifact.with_suffix(".npy"), found[..., None].view(np.uint8))
"""
"""Loads each artifact beside its inputs, and keeps what it gives; arrays have their bytes as a last axis."""


def _wanted(network: Network, inputs: list[Any]) -> Any:
    return Interpreter(network.module)["main"](*map(array, inputs)).numpy()


def _agrees(network: Network, inputs: list[Any], found: Any) -> bool:
    """With the interpreter."""
    wanted = _wanted(network, inputs)
    return agrees(found, wanted, network.dtype) or hangs_on_rounding(network, inputs, wanted)


def _networks(seeds: Iterable[int]) -> list[Network]:
    """Those that take the sizes they begin with."""
    found: list[Network] = []
    for seed in seeds:
        network = random_network(seed)
        try:
            _wanted(network, network.inputs(network.sizes))
        except baton.DiagnosticError:
            continue
        found.append(network)
    return found


def check_loaded(networks: list[Network], folder: Path) -> None:
    """Saved here, loaded and run there."""
    for number, network in enumerate(networks):
        baton.compile(network.module).save(folder / f"{number}.baton")
        given = [x[..., None].view(np.uint8) for x in network.inputs(network.sizes)]
        np.savez(folder / f"{number}.npz", *given, dtype=np.asarray(network.dtype))
    subprocess.run([sys.executable, "-c", LOADING, str(folder)], check=True)
    for number, network in enumerate(networks):
        found = np.load(folder / f"{number}.npy").view(DataType(network.dtype).numpy)[..., 0]
        assert _agrees(network, network.inputs(network.sizes), found), number


def check_threads(networks: list[Network], seed: int) -> None:
    """Each thread calls all of them in an order of its own, every model with threads of its own, as it did alone."""
    draw = random.Random(seed)
    cases = []
    for network in networks:
        model = baton.compile(network.module, num_threads=draw.choice([None, 1, 2, 3]))
        for given in [network.inputs(network.sizes, k) for k in range(2)]:
            alone = np.asarray(model(*given)[0])
            assert _agrees(network, given, alone), seed
            cases.append((network, model, given, alone))
    faults: list[str] = []

    def work(number: int) -> None:
        order = random.Random(number)
        for _ in range(ROUNDS):
            for network, model, given, alone in order.sample(cases, len(cases)):
                (found,) = model(*given, num_threads=order.choice([None, 1, 2]))
                if not agrees(np.asarray(found), alone, network.dtype):
                    faults.append(f"thread {number}: {script(network.module)}")

    threads = [threading.Thread(target=work, args=(seed + number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults[0]


def test_loaded_elsewhere(tmp_path: Path) -> None:
    """Guards that an artifact holds all that a network needs: nothing of the process that compiled it."""
    check_loaded(_networks(range(1000, 1006)), tmp_path)


def test_many_threads() -> None:
    """Guards arenas, workspaces and the pool of threads, that calls at the same time share."""
    check_threads(_networks(range(2000, 2006)), 0)


@pytest.mark.fuzz
def test_many_loaded_elsewhere(tmp_path: Path) -> None:
    check_loaded(_networks(seeds_at_length(120)), tmp_path)


@pytest.mark.fuzz
def test_more_threads() -> None:
    for seed in seeds_at_length(12):
        print(seed, flush=True)
        check_threads(_networks(range(seed * 8, seed * 8 + 8)), seed)
