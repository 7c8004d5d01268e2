"""Models written as `relax.frontend.nn` modules: exported, compiled, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, te
from baton.error import DiagnosticError
from baton.relax.frontend import nn
from baton.relax.frontend.nn import op


def run(model: nn.Module, inputs: dict[str, Any], *values: np.ndarray, seed: int = 0) -> tuple[Any, dict[str, Any]]:
    module, parameters = model.export_tvm(spec={"forward": inputs})
    assert relax.analysis.well_formed(module)
    rng = np.random.default_rng(seed)
    weights = {name: rng.normal(size=p.shape).astype(p.dtype) for name, p in parameters}
    machine = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    return machine["forward"](*map(tvm.nd.array, (*values, *weights.values()))), weights


class Gated(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(width, -1, 1e-5, bias=False)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return x + self.down(op.silu(self.up(self.norm(x)))) * 0.5


class Language(nn.Module):
    def __init__(self) -> None:
        self.table = nn.Embedding("vocabulary", 8)
        self.layers = nn.ModuleList([Gated(8) for _ in range(2)])
        self.norm = nn.LayerNorm(8)

    def forward(self, ids: nn.Tensor) -> nn.Tensor:
        x = self.table(ids)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


def test_blocks_over_symbolic_sizes() -> None:
    x = np.random.default_rng(1).normal(size=(2, 3, 8)).astype("float32")
    found, w = run(Gated(8), {"x": nn.spec.Tensor(("batch", "length", 8), "float32")}, x)
    normal = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w["norm.weight"]
    hidden = normal @ w["up.weight"].T + w["up.bias"]
    expected = x + (hidden / (1 + np.exp(-hidden))) @ w["down.weight"].T * 0.5
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-4)


def test_parameters_are_named_by_their_path_and_kept_in_order() -> None:
    module, parameters = Language().export_tvm(spec={"forward": {"ids": nn.spec.Tensor((1, "n"), "int32")}})
    names = [name for name, _ in parameters]
    assert names[:3] == ["table.weight", "layers.0.norm.weight", "layers.0.up.weight"]
    assert names[-2:] == ["norm.weight", "norm.bias"]
    assert module["forward"].attrs["num_input"] == 1
    assert [p.name_hint for p in module["forward"].params] == ["ids", *names]


def test_convolutions_and_several_results() -> None:
    class Picture(nn.Module):
        def __init__(self) -> None:
            self.conv = nn.Conv2D(3, 4, 1)

        def forward(self, x: nn.Tensor) -> Any:
            return op.relu(self.conv(x)), op.split(x, 3, axis=1)

    x = np.random.default_rng(2).normal(size=(1, 3, 4, 4)).astype("float32")
    (made, parts), w = run(Picture(), {"x": nn.spec.Tensor((1, 3, 4, 4), "float32")}, x)
    product = np.einsum("oi,bihw->bohw", w["conv.weight"][:, :, 0, 0], x) + w["conv.bias"].reshape(1, -1, 1, 1)
    np.testing.assert_allclose(made.numpy(), np.maximum(product, 0), rtol=1e-4, atol=1e-5)
    assert [p.shape for p in parts] == [(1, 1, 4, 4)] * 3


def test_kernels_written_with_te() -> None:
    class Doubled(nn.Module):
        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return op.tensor_expr_op(lambda a: te.compute(a.shape, lambda i: a[i] * 2.0), "double", [x])

    found, _ = run(Doubled(), {"x": nn.spec.Tensor(("n",), "float32")}, np.ones(3, "float32"))
    assert found.numpy().tolist() == [2, 2, 2]


def test_values_of_parameters() -> None:
    layer = nn.Linear(2, 3)
    layer.load_state_dict({"weight": np.ones((3, 2), "float32"), "bias": np.zeros(3, "float32")})
    assert layer.state_dict()["weight"].data.shape == (3, 2)
    with pytest.raises(KeyError, match="missing: bias"):
        layer.load_state_dict({"weight": np.ones((3, 2), "float32")})
    with pytest.raises(tvm.TVMError, match="of shape"):
        layer.weight.data = np.ones((2, 2), "float32")
    with pytest.raises(ValueError, match="has a value"):
        layer.to("float16")
    layer = nn.Linear(2, 3)
    layer.to("float16")
    assert layer.weight.dtype == "float16"


def test_mistakes_are_named() -> None:
    with pytest.raises(tvm.TVMError, match="outside of export_tvm"):
        op.relu(nn.Parameter((2,)))
    with pytest.raises(tvm.TVMError, match="lacks x"):
        Gated(8).export_tvm(spec={"forward": {}})


class Remembering(nn.Module):
    """Keeps rows between calls, and prints them on the way."""

    def __init__(self) -> None:
        self.rows = nn.KVCache(1, [2])
        self.parts = nn.MultiLinear(2, [1, 3])

    def forward(self, x: nn.Tensor, total: tvm.tir.Var) -> Any:
        op.print_(x)
        self.rows.append(x)
        return self.parts(self.rows.view(total))


@pytest.mark.parametrize("mode", ["plain", "packed"])
def test_effects_are_inputs_and_results(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A cache grows over calls; an int of the spec is a dim; parameters and effects one by one or as one tuple."""
    spec = {"x": nn.spec.Tensor((1, 2), "float32"), "total": int, "$": {"param_mode": mode, "effect_mode": mode}}
    module, parameters = Remembering().export_tvm({"forward": spec}, debug=True)
    assert relax.analysis.well_formed(module)
    machine = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    weights = tuple(tvm.nd.array(np.ones(p.shape, "float32")) for _, p in parameters)
    state = machine["_initialize_effect"]()
    for count in (1, 2, 3):
        hidden = (state, weights) if mode == "packed" else (*state, *weights)
        row = tvm.nd.array(np.full((1, 2), count, "float32"))
        (first, rest), state = machine["forward"](row, tvm.runtime.ShapeTuple([count]), *hidden)
    assert first.numpy().ravel().tolist() == [3, 5, 7]
    assert rest.shape == (3, 3)
    assert capsys.readouterr().out.count("shape = (1, 2)") == 3
    with pytest.raises(ValueError, match="param_mode"):
        Remembering().export_tvm({"forward": {**spec, "$": {"param_mode": "loose"}}})


def test_methods_use_only_what_their_modes_pass() -> None:
    """Guards the export: a parameter or effect that was not passed became an unbound variable of the function."""

    class Net(nn.Module):
        def __init__(self) -> None:
            self.inner = Remembering()

        def weighted(self, x: nn.Tensor) -> Any:
            return self.inner.parts(x)

        def kept(self, x: nn.Tensor) -> Any:
            self.inner.rows.append(x)
            return x

        def plain(self, x: nn.Tensor) -> Any:
            return op.relu(x)

    modes = {"x": nn.spec.Tensor((1, 2), "float32"), "$": {"param_mode": "none", "effect_mode": "none"}}
    with pytest.raises(DiagnosticError, match=r"method weighted uses the parameter inner\.parts.*param_mode is 'none'"):
        Net().export_tvm({"weighted": modes})
    with pytest.raises(DiagnosticError, match=r"method kept uses the effect inner\.rows.*effect_mode is 'none'"):
        Net().export_tvm({"kept": modes})
    module, _ = Net().export_tvm({"plain": modes})
    assert relax.analysis.well_formed(module)
    assert len(module["plain"].params) == 1


class Layers(nn.Module):
    def __init__(self) -> None:
        self.line = nn.Conv1D(2, 4, 3, padding=1, groups=2)
        self.norm = nn.GroupNorm(2, 4)
        self.back = nn.ConvTranspose1D(4, 2, 2, stride=2)
        self.look = nn.Attention(4, heads=2, dim_head=4)
        self.steps = nn.Timesteps(4)
        self.embed = nn.TimestepEmbedding(4, 8)

    def forward(self, x: nn.Tensor, steps: nn.Tensor) -> Any:
        y = self.norm(self.line(x))
        image = op.interpolate(op.unsqueeze(y, 1), scale_factor=2)
        return self.back(y), self.look(op.permute_dims(y, [0, 2, 1])), self.embed(self.steps(steps)), image


def test_layers_and_operators() -> None:
    """What the layers give has the shapes that PyTorch's layers of these names have."""
    inputs = {"x": nn.spec.Tensor((1, 2, 6), "float32"), "steps": nn.spec.Tensor((3,), "int32")}
    x = np.random.default_rng(0).normal(size=(1, 2, 6)).astype("float32")
    found, weights = run(Layers(), inputs, x, np.arange(3, dtype="int32"))
    assert [f.shape for f in found] == [(1, 2, 12), (1, 6, 4), (3, 8), (1, 1, 8, 12)]
    assert weights["line.weight"].shape == (4, 1, 3)
    assert weights["back.weight"].shape == (4, 2, 2)


class Resized(nn.Module):
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def forward(self, x: nn.Tensor) -> Any:
        return op.interpolate(x, scale_factor=self.factor)


@pytest.mark.parametrize(("factor", "size"), [(0.5, (4, 3)), (1.5, (13, 10)), (3, (27, 21))])
def test_open_sizes_are_scaled_by_fractions(factor: float, size: tuple[int, int]) -> None:
    """Sizes that are not known were multiplied by the factor without its fraction: 0.5 gave images without pixels."""
    x = np.zeros((1, 2, 9, 7), "float32")
    found, _ = run(Resized(factor), {"x": nn.spec.Tensor((1, 2, "height", "width"), "float32")}, x)
    assert found.shape == (1, 2, *size)


class Images(nn.Module):
    def __init__(self, last: bool) -> None:
        self.last = last
        self.image = nn.Conv2D(4, 6, (3, 2), groups=2, data_layout="NHWC" if last else "NCHW")
        self.space = nn.Conv3D(6, 3, 1, data_layout="NDHWC" if last else "NCDHW")

    def forward(self, x: nn.Tensor) -> Any:
        y = self.image(op.permute_dims(x, [0, 2, 3, 1]) if self.last else x)
        z = op.gelu(self.space(op.unsqueeze(y, 1 if self.last else 2)), "none")
        return op.permute_dims(z, [0, 4, 1, 2, 3]) if self.last else z


def test_weights_have_their_channels_first_whatever_the_layout() -> None:
    """Guards that states of a model fit it, as in TVM: weights of channels that come last were another shape."""
    x = np.random.default_rng(0).normal(size=(1, 4, 6, 5)).astype("float32")
    (last, weights), (first, same) = (
        run(Images(k), {"x": nn.spec.Tensor(x.shape, "float32")}, x) for k in (True, False)
    )
    assert [w.shape for w in weights.values()] == [w.shape for w in same.values()]
    np.testing.assert_allclose(last.numpy(), first.numpy(), rtol=1e-4, atol=1e-5)


class Steps(nn.Module):
    def __init__(self) -> None:
        self.steps, self.line = nn.Timesteps(4), nn.Linear(4, 2)

    def forward(self, x: nn.Tensor) -> Any:
        return self.line(self.steps(x))


def test_embeddings_of_steps_have_the_default_dtype() -> None:
    """Guards models of float16, whose next layer refused them; dims of placeholders may be names."""
    nn.core.set_default_dtype("float16")
    try:
        module, _ = Steps().export_tvm({"forward": {"x": nn.spec.Tensor((3,), "int32")}})
    finally:
        nn.core.set_default_dtype("float32")
    assert str(module["forward"].ret_struct_info.dtype) == "float16"
    assert nn.Tensor.placeholder(["n", 4], "float32").shape[1] == 4


class Kernels(nn.Module):
    def forward(self, x: nn.Tensor) -> Any:
        same = nn.Tensor.placeholder(x.shape, "float32")
        y = op.extern("test.nn_modules.scaled", [x, 3], same)
        return op.relu6(y), op.topk(y, 2), op.cumsum(y, 0), op.pad(y, (1, 1))


def test_operators_on_packed_functions_and_the_rest() -> None:
    """Guards nn.op.extern and the operators that no other model here uses: values against numpy."""

    @tvm.register_func("test.nn_modules.scaled", override=True)
    def scaled(x: Any, factor: int, out: Any) -> None:
        out.copyfrom(x.numpy() * factor)

    found, _ = run(Kernels(), {"x": nn.spec.Tensor(("n",), "float32")}, np.array([1, 3, -1], "float32"))
    limited, (values, places), sums, padded = found
    assert limited.numpy().tolist() == [3, 6, 0]
    assert values.numpy().tolist() == [9, 3]
    assert places.numpy().tolist() == [1, 0]
    assert sums.numpy().tolist() == [3, 12, 9]
    assert padded.numpy().tolist() == [0, 3, 9, -3, 0]


class Sampler(nn.Module):
    """Draws from the likeliest entries, and tells their probabilities."""

    def forward(self, prob: nn.Tensor, p: nn.Tensor, k: nn.Tensor, u: nn.Tensor, rows: nn.Tensor) -> Any:
        ordered, index = op.sort(prob, descending=True), op.argsort(prob, descending=True, dtype="int64")
        drawn = op.sample_top_p_top_k_from_sorted_prob(ordered, index, p, k, u, rows)
        return drawn, op.renormalize_top_p_top_k_prob(prob, ordered, p, k)


@pytest.mark.parametrize("vocabulary", [6, "v"])
def test_draws_from_the_likeliest_entries(vocabulary: int | str) -> None:
    """A row keeps its largest entries until they sum to p, at most k, at least one; numbers fall into their shares."""
    rng = np.random.default_rng(3)
    prob = rng.dirichlet(np.ones(6), 3).astype("float32")
    p, k = np.array([[0.5], [0.99], [0.0]], "float32"), np.array([[6], [2], [6]])
    rows = np.array([[0], [0], [1], [2], [1]])
    u = np.array([[0.01], [0.99], [0.7], [0.5], [0.2]], "float32")
    shapes = ((3, vocabulary), (3, 1), (3, 1), (5, 1), (5, 1))
    kinds = ("float32", "float32", "int64", "float32", "int64")
    names = ("prob", "p", "k", "u", "rows")
    spec = {n: nn.spec.Tensor(s, d) for n, s, d in zip(names, shapes, kinds)}
    (drawn, shares), _ = run(Sampler(), spec, prob, p, k, u, rows)

    expected = np.zeros_like(prob)
    for row, (chances, enough, most) in enumerate(zip(prob, p[:, 0], k[:, 0])):
        order = np.argsort(-chances)
        kept = order[: min(most, 1 + np.searchsorted(np.cumsum(chances[order]), enough))]
        expected[row, kept] = chances[kept] / chances[kept].sum()
    np.testing.assert_allclose(shares.numpy(), expected, rtol=1e-5)
    for found, row, number in zip(drawn.numpy()[:, 0], rows[:, 0], u[:, 0]):
        order = np.argsort(-prob[row])
        assert found == order[np.searchsorted(np.cumsum(expected[row][order]), number, side="right")]


def test_norms_without_weights_of_open_sizes() -> None:
    """The ones and zeros in the places of weights were made of sizes that nobody knows when compiling."""

    class Norms(nn.Module):
        def forward(self, x: Any) -> Any:
            return op.layer_norm(x, [x.shape[2]]), op.group_norm(x, 2, None, None)

    module, _ = Norms().export_tvm({"forward": {"x": nn.spec.Tensor(["n", "c", "h"], "float32")}})
    x = np.random.default_rng(0).standard_normal((2, 4, 5)).astype("float32")
    rows, groups = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())["forward"](tvm.nd.array(x))
    np.testing.assert_allclose(rows.numpy(), normal(x, 2), atol=1e-4)
    np.testing.assert_allclose(groups.numpy(), normal(x.reshape(2, 2, 10), 2).reshape(x.shape), atol=1e-4)


def normal(x: Any, axis: int) -> Any:
    """With mean 0 and variance 1 along an axis."""
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)


class Deep(nn.Module):
    """Blocks, one of which has weights that do not fit."""

    def __init__(self) -> None:
        self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(5, 4)])

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.blocks(x)

    def twice(self, x: nn.Tensor) -> nn.Tensor:
        return x + nn.op.reshape(x, (3,))


def test_errors_name_the_module_in_which_they_arise() -> None:
    """Of a model with many layers of one kind, which of them did not fit remained unsaid."""
    x = {"x": nn.spec.Tensor([2, 4], "float32")}
    with pytest.raises(DiagnosticError, match=r"in blocks\.2, a Linear\n  while exporting forward"):
        Deep().export_tvm(spec={"forward": x})
    with pytest.raises(DiagnosticError, match="while exporting twice") as error:
        Deep().export_tvm(spec={"twice": x})
    assert "blocks" not in str(error.value)
