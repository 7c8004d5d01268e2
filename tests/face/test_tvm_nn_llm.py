"""Caches of keys and values in pages, and rotary embeddings, against attention computed anew for whole sequences."""

from __future__ import annotations

import math
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, tir
from baton._src.relax.interpreter import Interpreter
from baton._src.runtime.vm.builtins.paged_cache import PagedCache
from baton._src.runtime.vm.builtins.paged_rows import Row
from baton.error import DiagnosticError
from baton.relax.frontend import nn
from baton.relax.frontend.nn.llm.kv_cache import FlashInferPagedKVCache, PagedKVCache, RopeMode, TIRPagedKVCache
from baton.relax.frontend.nn.llm.position_embedding import llama_rope, llama_rope_with_position_map
from baton.script import from_source

HEADS, SHARED, SIZE, LAYERS, PAGE = 4, 2, 8, 2, 4
FUSED = HEADS + 2 * SHARED
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
LONG = {"rope_type": "longrope", "max_position_embeddings": 256, "original_max_position_embeddings": 64}
SCALINGS = [{}, {"rope_type": "gptj"}, LLAMA3, LONG]
SIZES = ("max_batch_size", "max_total_seq_len", "prefill_chunk_size", "page_size")


def rotated(x: np.ndarray, position: int, scaling: dict[str, Any], dim: int, factors: Any = None) -> np.ndarray:
    """One head at one position, pair by pair."""
    out, height = x.astype("float64"), 1.0
    for pair in range(dim // 2):
        frequency = 10000.0 ** (-2 * pair / dim)
        if scaling.get("rope_type") == "llama3":
            length = 2 * math.pi / frequency
            low, high = 64 / 1.0, 64 / 4.0
            if length > low:
                frequency /= 8
            elif length > high:
                share = (64 / length - 1) / (4 - 1)
                frequency = (1 - share) * frequency / 8 + share * frequency
        if scaling.get("rope_type") == "longrope":
            height = math.sqrt(1 + math.log(256 / 64) / math.log(64))
            frequency /= 1.0 if factors is None else factors[pair]
        a, b = (2 * pair, 2 * pair + 1) if scaling.get("rope_type") == "gptj" else (pair, pair + dim // 2)
        cos, sin = height * math.cos(position * frequency), height * math.sin(position * frequency)
        out[a], out[b] = x[a] * cos - x[b] * sin, x[b] * cos + x[a] * sin
    return out


def attended(qkv: np.ndarray, scaling: dict[str, Any] | None, dim: int = SIZE, factors: Any = None) -> np.ndarray:
    """Causal attention over a whole sequence (tokens, heads, size), query by query."""
    tokens = np.array(qkv, "float64")
    if scaling is not None:
        for place in range(len(tokens)):
            for head in range(HEADS + SHARED):
                tokens[place, head] = rotated(tokens[place, head], place, scaling, dim, factors)
    out = np.zeros((len(tokens), HEADS, SIZE))
    for place in range(len(tokens)):
        for head in range(HEADS):
            group = head // (HEADS // SHARED)
            keys, values = tokens[: place + 1, HEADS + group], tokens[: place + 1, HEADS + SHARED + group]
            powers = np.exp(keys @ tokens[place, head] / math.sqrt(SIZE))
            out[place, head] = powers @ values / powers.sum()
    return out


class Model(nn.Module):
    def __init__(self, scaling: dict[str, Any] | None, dim: int, factors: Any, slides: bool) -> None:
        self.scaling, self.dim, self.factors, self.slides = scaling, dim, factors, slides

    def attend(self, qkv: nn.Tensor, cache: PagedKVCache) -> Any:
        """The second layer has the first one's queries, keys and values twice as large."""
        positions = cache.get_query_positions(qkv.shape[0] * qkv.shape[1])
        first = cache.attention_with_fused_qkv(0, qkv, HEADS)
        second = cache.attention_with_fused_qkv(1, qkv * 2.0, HEADS, sm_scale=0.25 / math.sqrt(SIZE))
        return first, second, positions, cache

    def create(self, max_batch_size: Any, max_total_seq_len: Any, prefill_chunk_size: Any, page_size: Any) -> Any:
        return TIRPagedKVCache(
            max_batch_size=max_batch_size,
            max_total_seq_len=max_total_seq_len,
            prefill_chunk_size=prefill_chunk_size,
            page_size=page_size,
            support_sliding_window=int(self.slides),
            layer_partition=relax.ShapeExpr([0, LAYERS]),
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=SHARED,
            head_dim=SIZE,
            rope_mode=RopeMode.NONE if self.scaling is None else RopeMode.NORMAL,
            rope_scale=1,
            rope_theta=10000,
            rope_scaling=self.scaling or {},
            rope_ext_factors=relax.PrimValue(0) if self.factors is None else relax.const(self.factors, "float32"),
            rotary_dim=self.dim,
            dtype="float32",
            target=tvm.target.Target("llvm"),
        )


class Session:
    """A compiled model and its cache, beside whole sequences in NumPy."""

    def __init__(
        self, scaling: dict[str, Any] | None, dim: int = SIZE, factors: Any = None, slides: bool = False
    ) -> None:
        no_params = {"param_mode": "none", "effect_mode": "none"}
        qkv = nn.spec.Tensor(("batch", "length", FUSED, SIZE), "float32")
        spec = {
            "attend": {"qkv": qkv, "cache": nn.spec.Object(object_type=PagedKVCache), "$": no_params},
            "create": {**dict.fromkeys(SIZES, int), "$": no_params},
        }
        self.module, _ = Model(scaling, dim, factors, slides).export_tvm(spec)
        assert relax.analysis.well_formed(self.module)
        self.machine = relax.VirtualMachine(relax.build(self.module, "llvm"), tvm.cpu())
        self.options = (scaling, dim, factors)
        self.rng = np.random.default_rng(0)
        self.empty(3, 40, 16)

    def empty(self, rows: int, tokens: int, new: int) -> None:
        sizes = (tvm.runtime.ShapeTuple([n]) for n in (rows, tokens, new, PAGE))
        self.cache = self.machine["create"](*sizes)
        self.whole: dict[int, np.ndarray] = {}
        self.windows: dict[int, tuple[int, int]] = {}

    def call(self, name: str, *args: Any) -> Any:
        return tvm.get_global_func(f"vm.builtin.{name}")(self.cache, *args)

    def add(self, number: int) -> None:
        self.call("kv_state_add_sequence", number)
        self.whole[number] = np.zeros((0, FUSED, SIZE), "float32")

    def append(self, **counts: int) -> None:
        """New tokens of sequences (`_0=3`), compared with attention over their sequences."""
        numbers = [int(name[1:]) for name in counts]
        new = [self.rng.normal(size=(n, FUSED, SIZE)).astype("float32") for n in counts.values()]
        self.call("kv_state_begin_forward", tvm.runtime.ShapeTuple(numbers), tvm.runtime.ShapeTuple(counts.values()))
        tokens = np.concatenate(new)[None]
        first, second, positions, cache = self.machine["attend"](tvm.nd.array(tokens), self.cache)
        self.call("kv_state_end_forward")
        assert cache is self.cache
        place = 0
        for number, part in zip(numbers, new, strict=True):
            before = len(self.whole[number])
            self.whole[number] = np.concatenate([self.whole[number], part])
            expected = attended(self.whole[number], *self.options)[before:]
            found = slice(place, place + len(part))
            np.testing.assert_allclose(first.numpy()[0, found], expected, rtol=2e-4, atol=2e-5)
            np.testing.assert_allclose(second.numpy()[0, found], 2 * expected, rtol=2e-4, atol=2e-5)
            np.testing.assert_array_equal(positions.numpy()[found], np.arange(before, before + len(part)))
            place += len(part)
            self.forget(number)

    def slide(self, number: int, window: int, sink: int) -> None:
        self.call("attention_kv_cache_enable_sliding_window_for_seq", number, window, sink)
        self.windows[number] = (window, sink)

    def forget(self, number: int) -> None:
        """A sequence that slides keeps its first tokens and its last ones."""
        window, sink = self.windows.get(number, (10**6, 0))
        whole = self.whole[number]
        first, rest = whole[:sink], whole[sink:]
        self.whole[number] = np.concatenate([first, rest[max(len(rest) - (window - sink), 0) :]])


@pytest.fixture(scope="module")
def plain() -> Session:
    return Session({})


def test_kernels_are_those_of_the_program(plain: Session, tmp_path: Path) -> None:
    """Guards how a cache gets its kernels: from bytecode, from a file, from the text, and interpreted."""
    library = str(tmp_path / "model.so")
    relax.build(plain.module, "llvm").export_library(library)
    read = from_source(plain.module.script())
    machines = [
        plain.machine,
        relax.VirtualMachine(tvm.runtime.load_module(library), tvm.cpu()),
        relax.VirtualMachine(relax.build(read, "llvm", exec_mode="bytecode"), tvm.cpu()),
        Interpreter(read),
    ]
    rng, found = np.random.default_rng(1), list[Any]()
    tokens = [tvm.nd.array(rng.normal(size=(1, n, FUSED, SIZE)).astype("float32")) for n in (5, 1)]
    for machine in machines:
        cache = machine["create"](*(tvm.runtime.ShapeTuple([n]) for n in (1, 40, 16, PAGE)))
        assert cache._kernels is not None
        tvm.get_global_func("vm.builtin.kv_state_add_sequence")(cache, 0)
        for new in tokens:
            begin = tvm.get_global_func("vm.builtin.kv_state_begin_forward")
            begin(cache, tvm.runtime.ShapeTuple([0]), tvm.runtime.ShapeTuple([new.shape[1]]))
            found.append(machine["attend"](new, cache)[0].numpy())
    for part in range(2):
        for other in found[part::2]:
            np.testing.assert_allclose(other, found[part], rtol=1e-4, atol=1e-5)


def test_sequences_grow_fork_shrink_and_leave(plain: Session) -> None:
    plain.empty(3, 40, 16)
    for number in (0, 7):
        plain.add(number)
    plain.append(_0=6, _7=9)
    plain.append(_7=1, _0=1)
    plain.call("kv_state_fork_sequence", 0, 2, 5)
    plain.whole[2] = plain.whole[0][:5]
    plain.append(_2=1, _0=2)  # both write into what was one page
    plain.call("kv_state_popn", 7, 4)
    plain.whole[7] = plain.whole[7][:6]
    plain.append(_0=1, _2=1, _7=4)
    assert plain.call("attention_kv_cache_get_total_sequence_length") == sum(map(len, plain.whole.values()))
    plain.call("kv_state_remove_sequence", 0)
    plain.append(_2=2)
    for number in (2, 7):
        plain.call("kv_state_remove_sequence", number)
    assert plain.call("attention_kv_cache_get_num_available_pages") == 40 // PAGE + 1
    assert plain.call("attention_kv_cache_empty")


def test_a_fork_at_the_end_shares_pages_until_one_side_writes(plain: Session) -> None:
    plain.empty(3, 40, 16)
    plain.add(0)
    plain.append(_0=6)
    free = plain.call("attention_kv_cache_get_num_available_pages")
    plain.call("kv_state_fork_sequence", 0, 1)
    assert plain.call("attention_kv_cache_get_num_available_pages") == free
    plain.whole[1] = plain.whole[0]
    plain.append(_1=1)
    assert plain.call("attention_kv_cache_get_num_available_pages") == free - 1
    plain.append(_0=1)
    assert plain.call("attention_kv_cache_get_num_available_pages") == free - 1


def test_both_sides_of_a_fork_go_on_in_the_last_page() -> None:
    """Guards the count of pages needed: the last user of a page keeps it, so one copy is enough for two."""
    cache = PagedCache([4, 4 * PAGE, PAGE, PAGE, 0], [0, 1], (HEADS, SHARED), SIZE, None, "float32")
    cache.add(0, Row())
    cache.begin([0], [1])
    cache.add(1, Row(list(cache.rows[0].pages), 1))
    cache.add(2, Row())
    for _ in range(cache.pages.available - 1):
        cache.begin([2], [PAGE])
    cache.begin([0, 1], [1, 1])
    assert cache.pages.available == 0
    assert cache.rows[0].pages != cache.rows[1].pages


@pytest.mark.parametrize("left", [0, PAGE + 1])
def test_sequences_that_are_cut_after_their_tokens_were_announced(left: int) -> None:
    """Guards the order of calls: the tokens were written to places that the sequence had no more, an error of NumPy."""
    cache = PagedCache([4, 4 * PAGE, 2 * PAGE, PAGE, 0], [0, 1], (HEADS, SHARED), SIZE, None, "float32")
    cache.add(0, Row())
    cache.begin([0], [PAGE + 2])
    cache.shorten(cache.rows[0], left)
    with pytest.raises(tvm.DiagnosticError, match=r"0 were announced(.|\n)*kv_state_begin_forward"):
        cache.attend(0, 1.0, *(tvm.nd.array(np.zeros((PAGE + 2, n, SIZE), "float32")) for n in (FUSED, HEADS)))


@pytest.mark.parametrize("scaling", [None, *SCALINGS[1:]])
def test_positions_are_embedded_as_the_model_says(scaling: dict[str, Any] | None) -> None:
    factors = np.array([1, 2, 1.5]) if scaling is LONG else None
    session = Session(scaling, 6, factors)
    session.add(0)
    session.append(_0=7)
    session.append(_0=2)


@pytest.mark.parametrize("scaling", [None, {}, {"rope_type": "gptj"}])
def test_sequences_slide(scaling: dict[str, Any] | None) -> None:
    """New tokens attend to the window so far and to each other; positions are counted in the window."""
    session = Session(scaling, slides=True)
    for number in (0, 1, 2):
        session.add(number)
    session.slide(0, 7, 2)
    session.slide(1, 6, 0)
    session.append(_0=1, _1=4, _2=3)
    session.append(_0=5, _1=4)  # just below the window, and beyond it
    for _ in range(6):
        session.append(_0=1, _1=1, _2=1)
    session.append(_0=11, _1=2)  # more than the window
    session.slide(2, 5, 1)  # it has more tokens already
    session.append(_2=2)
    session.append(_0=1, _2=1)
    assert session.call("attention_kv_cache_get_total_sequence_length") == 7 + 6 + 5
    session.call("kv_state_popn", 0, 3)
    session.whole[0] = session.whole[0][:4]
    session.append(_0=4, _1=1)
    free = session.call("attention_kv_cache_get_num_available_pages")
    session.call("kv_state_remove_sequence", 0)
    assert session.call("attention_kv_cache_get_num_available_pages") == free + 2


def test_what_is_shared_with_a_fork_does_not_slide() -> None:
    session = Session({}, slides=True)
    session.add(0)
    session.append(_0=9)
    session.call("kv_state_fork_sequence", 0, 1, 5)
    session.whole[1] = session.whole[0][:5]
    session.slide(0, 8, 1)
    session.slide(1, 7, 0)
    session.windows = {0: (8, 5), 1: (7, 5)}
    for _ in range(3):
        session.append(_0=2, _1=3)
    with pytest.raises(DiagnosticError, match=r"cannot be forked: it has a sliding window"):
        session.call("kv_state_fork_sequence", 0, 2, -1)


def test_windows_that_do_not_fit_are_refused(plain: Session) -> None:
    plain.empty(3, 40, 16)
    plain.add(0)
    with pytest.raises(DiagnosticError, match=r"keeps sequences whole(.|\n)*support_sliding_window=1"):
        plain.slide(0, 4, 1)
    cache = PagedCache([4, 4 * PAGE, PAGE, PAGE, 1], [0, 1], (HEADS, SHARED), SIZE, None, "float32")
    cache.add(0, Row())
    for window, sink in ((4, 4), (0, 0), (4, -1)):
        with pytest.raises(DiagnosticError, match="does not hold"):
            cache.slide(0, window, sink)
    with pytest.raises(DiagnosticError, match="cannot be trees"):
        cache.begin([0], [2], [-1, 0])
    cache.slide(0, 4, 1)
    with pytest.raises(DiagnosticError, match="a sliding window already, of 4 tokens"):
        cache.slide(0, 4, 1)


class Trees:
    """Sequences of a session that end in trees: every token's way from the start, computed anew."""

    def __init__(self, session: Session) -> None:
        self.session, self.tokens, self.parents = session, dict[int, np.ndarray](), dict[int, list[int]]()

    def append(self, **parents: list[int]) -> None:
        """New tokens with their parents (`_0=[-1, 0, 0]`), compared with attention over the way to each of them."""
        numbers = [int(name[1:]) for name in parents]
        sizes = (numbers, map(len, parents.values()), chain.from_iterable(parents.values()))
        self.session.call("kv_state_begin_forward", *map(tvm.runtime.ShapeTuple, sizes))
        new = [self.session.rng.normal(size=(len(p), FUSED, SIZE)).astype("float32") for p in parents.values()]
        first, _, positions, _ = self.session.machine["attend"](
            tvm.nd.array(np.concatenate(new)[None]), self.session.cache
        )
        self.session.call("kv_state_end_forward")
        expected, places = [], []
        for number, part, above in zip(numbers, new, parents.values(), strict=True):
            before = self.tokens.get(number, part[:0])
            self.tokens[number] = np.concatenate([before, part])
            self.parents[number] = [*self.parents.get(number, []), *above]
            for node in range(len(before), len(self.parents[number])):
                whole = self.way(number, node)
                expected.append(attended(whole, *self.session.options)[-1])
                places.append(len(whole) - 1)
        np.testing.assert_allclose(first.numpy()[0], np.stack(expected), rtol=2e-4, atol=2e-5)
        np.testing.assert_array_equal(positions.numpy(), places)

    def way(self, number: int, leaf: int) -> np.ndarray:
        nodes = []
        while leaf != -1:
            nodes.append(leaf)
            leaf = self.parents[number][leaf]
        return np.concatenate([self.session.whole[number], self.tokens[number][nodes[::-1]]])

    def commit(self, **leaves: int) -> None:
        numbers = [int(name[1:]) for name in leaves]
        accepted = tvm.runtime.ShapeTuple(numbers), tvm.runtime.ShapeTuple(leaves.values())
        self.session.call("attention_kv_cache_commit_accepted_token_tree_nodes", *accepted)
        for number, leaf in zip(numbers, leaves.values(), strict=True):
            self.session.whole[number] = self.way(number, leaf)
            del self.tokens[number], self.parents[number]


@pytest.mark.parametrize("scaling", [None, {}])
def test_trees_of_tokens_attend_to_what_is_above_them(scaling: dict[str, Any] | None) -> None:
    """Guesses at how sequences go on, over several calls and pages; what is accepted goes on as a sequence."""
    session = Session(scaling)
    trees = Trees(session)
    for number in (0, 7):
        session.add(number)
    session.append(_0=6, _7=3)
    trees.append(_0=[-1, 0, 0, 2, 1], _7=[-1, -1, 1])
    trees.append(_7=[2, 0], _0=[3])
    trees.commit(_0=5, _7=4)  # by 0, 2, 3, 5 and by 0, 4
    session.append(_0=2, _7=1)
    trees.append(_0=[-1, 0])
    trees.commit(_0=-1)
    session.append(_0=1)
    session.call("kv_state_fork_sequence", 0, 2)
    session.whole[2] = session.whole[0]
    trees.append(_2=[-1, -1])  # in a page of its own by now
    trees.commit(_2=1)
    session.append(_0=1, _2=1)


def test_trees_that_do_not_fit_are_refused_and_change_nothing(plain: Session) -> None:
    plain.empty(3, 40, 16)
    plain.add(0)
    plain.append(_0=3)
    trees = Trees(plain)
    for parents, says in (([-1, 1], "are no tree"), ([-2], "are no tree")):
        with pytest.raises(DiagnosticError, match=says):
            trees.append(_0=parents)
    with pytest.raises(DiagnosticError, match="1 parents are given for 2 new tokens"):
        plain.call("kv_state_begin_forward", *map(tvm.runtime.ShapeTuple, ([0], [2], [-1])))
    trees = Trees(plain)
    trees.append(_0=[-1, -1])
    for call in (
        lambda: plain.append(_0=1),
        lambda: plain.call("kv_state_popn", 0, 1),
        lambda: plain.call("kv_state_fork_sequence", 0, 1),
    ):
        with pytest.raises(DiagnosticError, match="sequence 0 ends in a tree of 2 tokens"):
            call()
    with pytest.raises(DiagnosticError, match="has 2 tokens, no token 2"):
        trees.commit(_0=2)
    trees.commit(_0=1)
    with pytest.raises(DiagnosticError, match="has 0 tokens, no token 0"):
        plain.call("attention_kv_cache_commit_accepted_token_tree_nodes", *map(tvm.runtime.ShapeTuple, ([0], [0])))
    plain.append(_0=1)


def test_stored_keys_and_values_are_told(plain: Session) -> None:
    plain.empty(3, 40, 16)
    plain.add(0)
    plain.append(_0=6)
    keys, values = (tvm.nd.array(np.zeros((LAYERS, 4, SHARED, SIZE), "float32")) for _ in range(2))
    plain.call("attention_kv_cache_debug_get_kv", 0, 1, 5, keys, values)
    np.testing.assert_allclose(values.numpy()[0], plain.whole[0][1:5, HEADS + SHARED :])
    np.testing.assert_allclose(values.numpy()[1], 2 * plain.whole[0][1:5, HEADS + SHARED :])
    expected = rotated(plain.whole[0][3, HEADS + 1], 3, {}, SIZE)
    np.testing.assert_allclose(keys.numpy()[0, 2, 1], expected, rtol=1e-5, atol=1e-6)


def test_what_does_not_fit_is_refused_and_changes_nothing(plain: Session) -> None:
    plain.empty(2, 15, 8)
    plain.add(0)
    with pytest.raises(DiagnosticError, match="has a sequence 0 already"):
        plain.call("kv_state_add_sequence", 0)
    with pytest.raises(DiagnosticError, match="has no sequence 5"):
        plain.call("kv_state_popn", 5, 1)
    with pytest.raises(DiagnosticError, match="cannot be appended at once"):
        plain.append(_0=9)
    plain.append(_0=8)
    plain.append(_0=8)
    plain.append(_0=4)
    with pytest.raises(DiagnosticError, match="1 more pages are needed, the cache has 0 left"):
        plain.append(_0=1)
    with pytest.raises(DiagnosticError, match="20 tokens, 21 cannot be taken"):
        plain.call("kv_state_popn", 0, 21)
    plain.call("kv_state_popn", 0, 2)
    plain.whole[0] = plain.whole[0][:18]
    plain.append(_0=2)
    tokens, out = (tvm.nd.array(np.zeros((1, heads, SIZE), "float32")) for heads in (FUSED, HEADS))
    with pytest.raises(DiagnosticError, match="1 tokens are given, 0 were announced"):
        plain.call("attention_kv_cache_attention_with_fused_qkv", 0, 1.0, tokens, out)
    for layer in (-1, LAYERS):
        with pytest.raises(DiagnosticError, match=rf"layers 0 to {LAYERS - 1}, not {layer}"):
            plain.call("attention_kv_cache_attention_with_fused_qkv", layer, 1.0, tokens, out)
    plain.add(1)
    with pytest.raises(DiagnosticError, match="2 sequences at most"):
        plain.call("kv_state_add_sequence", 2)
    plain.call("kv_state_clear")
    plain.add(2)
    plain.append(_2=8)
    with pytest.raises(NotImplementedError, match="FlashInfer is for GPUs"):
        FlashInferPagedKVCache()


def test_what_a_cache_cannot_be_is_refused_when_it_is_made() -> None:
    options: dict[str, Any] = {
        **dict.fromkeys(SIZES, 4),
        "support_sliding_window": 0,
        "layer_partition": [0, LAYERS],
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": SHARED,
        "head_dim": SIZE,
        "rope_mode": RopeMode.NONE,
        "rope_scale": 1,
        "rope_theta": 10000,
        "rope_scaling": {},
        "rotary_dim": SIZE,
        "dtype": "float32",
    }
    with pytest.raises(ValueError, match=f"{LAYERS} layers, num_hidden_layers is 9"):
        TIRPagedKVCache(**{**options, "num_hidden_layers": 9})
    with pytest.raises(NotImplementedError, match="heads of the same size"):
        TIRPagedKVCache(**options, v_head_dim=SIZE + 1)
    with pytest.raises(NotImplementedError, match="distributes the cache over several machines"):
        TIRPagedKVCache(**options, enable_disaggregation=True)
    with pytest.raises(TypeError, match="rotary_size"):
        TIRPagedKVCache(**options, rotary_size=4)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_fused_heads_are_split_and_rotated(scaling: dict[str, Any]) -> None:
    class Split(nn.Module):
        def forward(self, qkv: nn.Tensor, total: tir.Var) -> Any:
            return llama_rope(qkv, total, 10000, 1.0, HEADS, SHARED, scaling, 6)

    spec = {"qkv": nn.spec.Tensor((1, "n", FUSED, SIZE), "float32"), "total": int}
    module, _ = Split().export_tvm({"forward": spec})
    kernel = llama_rope_with_position_map(10000, 1.0, SIZE, HEADS, SHARED, "float32", scaling, 6)
    machine = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    tokens = np.random.default_rng(3).normal(size=(3, FUSED, SIZE)).astype("float32")
    expected = tokens.copy()
    for place, head in np.ndindex(3, HEADS + SHARED):
        expected[place, head] = rotated(tokens[place, head], 4 + place, scaling, 6)
    found = machine["forward"](tvm.nd.array(tokens[None]), tvm.runtime.ShapeTuple([7]))
    together = np.concatenate([part.numpy()[0] for part in found], axis=1)
    np.testing.assert_allclose(together, expected, rtol=1e-4, atol=1e-5)
    parts = [tvm.nd.array(np.zeros((3, n, SIZE), "float32")) for n in (HEADS, SHARED, SHARED)]
    built = tvm.build(kernel.with_attr("global_symbol", "fused_rope"), target="llvm")
    for applied, wanted in ((1, expected), (0, tokens)):
        positions = tvm.nd.array(np.array([4, 5, 6], "int32"))
        built["fused_rope"](tvm.nd.array(tokens), positions, *parts, applied)
        np.testing.assert_allclose(np.concatenate([p.numpy() for p in parts], axis=1), wanted, rtol=1e-4, atol=1e-5)
