"""What a program may come from: exported programs, fx graphs, TorchScript, torch.compile; what TVM says of each."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import baton
from baton import relax, relay, tir
from baton._src.driver.frontends.torch_graph import CompiledGraph
from baton._src.support.diagnostics import DiagnosticError
from baton.relax.frontend import detach_params
from baton.relax.frontend.torch import dynamo_capture_subgraphs, from_exported_program, from_fx, relax_dynamo
from baton.relay.frontend import from_pytorch
from tests.frontends.torch.cases.inputs import floats
from tests.frontends.torch.comparing import as_array, assert_same
from tests.frontends.torch.modules import seeded

ROWS = floats(3, 4)


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(5, 2))


def names(module: Any) -> list[str]:
    return [p.name_hint for p in module["main"].params]


def test_results_of_exported_programs() -> None:
    """One result is a tuple too, unless it is unwrapped; the tuple has a name, unless it shall not."""
    module = seeded(perceptron)
    exported = torch.export.export(module, (ROWS,))
    plain = from_exported_program(exported)
    assert names(plain) == ["input"]
    assert type(plain["main"].ret_struct_info).__name__ == "TupleStructInfo"
    unwrapped = from_exported_program(exported, unwrap_unit_return_tuple=True)
    assert type(unwrapped["main"].ret_struct_info).__name__ == "TensorStructInfo"
    unbound = from_exported_program(exported, no_bind_return_tuple=True)
    assert type(unbound["main"].body.body).__name__ == "Tuple"
    for found in (plain, unwrapped, unbound, exported):
        assert_same(baton.compile(found)(as_array(ROWS)), [module(ROWS)], "exported")


def test_regions_without_gradients() -> None:
    """What PyTorch wraps around `torch.no_grad()` and `torch.autocast` is seen through."""

    class Wrapped(nn.Module):
        def forward(self, x: Any) -> Any:
            with torch.no_grad():
                y = x * 2
            with torch.autocast("cpu", enabled=False):
                z = y @ y.T
            return z + 1

    exported = torch.export.export(Wrapped(), (ROWS,))
    assert_same(baton.compile(exported)(as_array(ROWS)), [Wrapped()(ROWS)], "wrapped")


def test_results_that_are_none_are_left_out() -> None:
    class Optional(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2, None, {"last": x + 1, "cache": None}

    found = baton.compile(torch.export.export(Optional(), (ROWS,)))(as_array(ROWS))
    assert_same(found, [ROWS * 2, ROWS + 1], "optional")


def test_padded_positions_of_transformers_are_those_of_the_exported_program() -> None:
    """Where nobody wants gradients, PyTorch runs another program, whose padded positions are zero."""
    module = seeded(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2))
    rows, hidden = floats(2, 5, 8), torch.tensor([[False] * 5, [False, False, True, True, True]])

    class Padded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = module

        def forward(self, x: Any, hidden: Any) -> Any:
            return self.layers(x, src_key_padding_mask=hidden)

    exported = torch.export.export(Padded().eval(), (rows, hidden))
    found = baton.compile(exported)(as_array(rows), hidden.numpy())
    assert_same(found, [exported.module()(rows, hidden)], "padded")
    with torch.no_grad():
        visible = Padded().eval()(rows, hidden)[~hidden]
    torch.testing.assert_close(torch.from_numpy(found[0])[~hidden], visible, rtol=1e-4, atol=1e-5)


def test_parameters_as_inputs() -> None:
    """They follow the inputs, which `num_input` counts: passes over weights look behind those."""
    module = seeded(perceptron)
    kept = from_exported_program(torch.export.export(module, (ROWS,)), keep_params_as_input=True)
    assert names(kept) == ["input", "p_0_weight", "p_0_bias", "p_3_weight", "p_3_bias"]
    assert kept["main"].attrs["num_input"] == 1
    detached, params = detach_params(kept)
    arrays = [p.numpy() for p in params["main"]]
    assert_same(baton.compile(detached)(as_array(ROWS), *arrays), [module(ROWS)], "kept")
    traced = from_fx(torch.fx.symbolic_trace(module), [((3, 4), "float32")], keep_params_as_input=True)
    assert names(traced) == ["inp_0", "0_bias", "0_weight", "3_bias", "3_weight"]


def test_fx_graphs() -> None:
    """Calls of modules, functions and methods; a dict or a tuple of results."""

    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = perceptron()

        def forward(self, x: Any, y: Any) -> Any:
            return self.inner(x).relu(), torch.add(x, y).view(-1)

    module = seeded(Mixed)
    graph = torch.fx.symbolic_trace(module)
    imported = from_fx(graph, [((3, 4), "float32"), ([4], "torch.float32")])
    assert names(imported) == ["inp_0", "inp_1"]
    assert_same(baton.compile(imported)(as_array(ROWS), as_array(ROWS[0])), module(ROWS, ROWS[0]), "fx")


@pytest.mark.parametrize("scripted", [False, True], ids=["traced", "scripted"])
def test_torchscript(scripted: bool) -> None:
    """Parameters keep their names; what is not used is no parameter; `params` makes the result of them."""
    module = seeded(perceptron)
    script = torch.jit.script(module) if scripted else torch.jit.trace(module, ROWS)
    imported, params = from_pytorch(script, [("data", (3, 4))])
    assert names(imported) == ["data", "0.weight", "0.bias", "3.weight", "3.bias"]
    assert list(params) == ["0.weight", "0.bias", "3.weight", "3.bias"]
    assert_same(baton.compile(imported, params=params)(as_array(ROWS)), [module(ROWS)], "script")
    built = relay.build(imported, target="llvm", params=params)
    graph = baton.contrib.graph_executor.GraphModule(built["default"](baton.cpu(0)))
    graph.set_input("data", as_array(ROWS))
    graph.run()
    assert_same([graph.get_output(0).numpy()], [module(ROWS)], "graph executor")


@pytest.mark.parametrize("scripted", [False, True], ids=["traced", "scripted"])
def test_torchscript_that_computes_with_sizes(scripted: bool) -> None:
    """Tracing makes tensors of the sizes that a program computes with; scripting keeps conditions and loops."""

    class Bordered(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            missing = 6 - x.size(1)
            if missing > 0:
                x = nn.functional.pad(x, [missing // 2, missing - missing // 2])
            for _ in range(2):
                x = x * x.shape[0] + 1
            return x.reshape(x.shape[0] * 2, -1)

    script = torch.jit.script(Bordered()) if scripted else torch.jit.trace(Bordered(), ROWS)
    imported, _ = from_pytorch(script, [("data", (3, 4))])
    assert_same(baton.compile(imported)(as_array(ROWS)), [Bordered()(ROWS)], "sizes")


def test_torchscript_that_asks_for_dtypes() -> None:
    """It compares them with numbers, and makes tensors of them."""

    class Asking(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.dtype != torch.float32:
                return x + 1
            return x * torch.full([4], 2.0, dtype=x.dtype)

    imported, _ = from_pytorch(torch.jit.script(Asking()), [("data", (3, 4))])
    assert_same(baton.compile(imported)(as_array(ROWS)), [Asking()(ROWS)], "dtypes")


class Pooled(nn.Module):
    """Computes with its sizes, which may all stay open but the number of channels."""

    def __init__(self) -> None:
        super().__init__()
        self.filters = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = nn.functional.max_pool2d(self.filters(x), 2)
        return y.flatten(2).mean(2), y.view(y.shape[0], -1)


@pytest.mark.parametrize("scripted", [False, True], ids=["traced", "scripted"])
def test_open_sizes_of_torchscript(scripted: bool) -> None:
    module = seeded(Pooled)
    script = torch.jit.script(module) if scripted else torch.jit.trace(module, floats(2, 3, 8, 10))
    imported, params = from_pytorch(script, [("data", ((relay.Any(), 3, relay.Any(), relay.Any()), "float32"))])
    model = baton.compile(imported, params=params)
    for images in (floats(1, 3, 8, 10), floats(3, 3, 12, 6)):
        assert_same(model(as_array(images)), module(images), str(images.shape))
    plain, _ = from_pytorch(torch.jit.trace(nn.ReLU(), ROWS), [("data", (relay.Any(), relay.Any()))])
    assert str(plain["main"].params[0].type_annotation) == "Tensor[(?, ?), float32]"


def test_open_sizes_of_fx_graphs() -> None:
    """Only those that the program leaves open: others are refused, not fixed in silence."""
    module, rows = seeded(Pooled), tir.Var("rows", "int64")
    graph = torch.fx.symbolic_trace(module)
    model = baton.compile(from_fx(graph, [((rows, 3, 8, 10), "float32")]))
    for images in (floats(1, 3, 8, 10), floats(3, 3, 8, 10)):
        assert_same(model(as_array(images)), module(images), str(images.shape))
    with pytest.raises(DiagnosticError, match="PyTorch cannot export the model"):
        from_fx(graph, [((2, rows, 8, 10), "float32")])


def test_sizes_of_graphs_are_the_variables_given() -> None:
    """Guards what passes find sizes by: they were PyTorch's (`s77`). One variable for two sizes makes them equal."""

    class Pair(nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return torch.cat([x, x]), y * 2

    rows, columns = tir.Var("rows", "int64"), tir.Var("columns", "int64")
    graph = torch.fx.symbolic_trace(Pair())
    infos = [((rows, columns), "float32"), ((rows,), "float32")]
    module = from_fx(graph, infos)
    assert relax.analysis.defined_symbolic_vars(module["main"]) == [rows, columns]
    assert relax.analysis.well_formed(module)
    x, y = floats(3, 4), floats(3)
    assert_same(baton.compile(module)(as_array(x), as_array(y)), Pair()(x, y), "sizes")
    bound = relax.transform.BindSymbolicVars({"rows": 3})(module)
    assert [int(d) for d in bound["main"].params[1].struct_info.shape.values] == [3]
    with pytest.raises(DiagnosticError, match="rows"):
        baton.compile(module)(as_array(x), as_array(floats(2)))


def test_sizes_of_graphs_by_name_are_refused() -> None:
    graph = torch.fx.symbolic_trace(seeded(Pooled))
    with pytest.raises(DiagnosticError, match="'rows', which is not a size"):
        from_fx(graph, [(("rows", 3, 8, 10), "float32")])


def test_options_of_from_pytorch() -> None:
    """Types of inputs in TVM's ways of writing them, names for parsers, converters of the user."""
    script = torch.jit.trace(seeded(perceptron), ROWS)
    _, params = from_pytorch(script, [("data", ((3, 4), "float"))], use_parser_friendly_name=True)
    assert next(iter(params)) == "0_weight"

    def doubled(inputs: list[Any], types: list[str]) -> Any:
        assert types == ["float32"]
        return relay.multiply(inputs[0], relay.const(2.0))

    imported, params = from_pytorch(script, [("data", (3, 4))], custom_convert_map={"aten::relu": doubled})
    weight, bias, last, end = (params[n].numpy() for n in ("0.weight", "0.bias", "3.weight", "3.bias"))
    expected = (as_array(ROWS) @ weight.T + bias) * 2 @ last.T + end
    np.testing.assert_allclose(baton.compile(imported, params=params)(as_array(ROWS))[0], expected, 1e-5, 1e-5)


def test_torch_compile() -> None:
    """The back end by its name: other sizes, changed weights, inputs changed in place, gradients."""
    torch._dynamo.reset()
    module = seeded(lambda: nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)))
    compiled = torch.compile(module, backend="baton")
    with torch.no_grad():
        for rows in (ROWS, ROWS[:2], floats(7, 4)):
            torch.testing.assert_close(compiled(rows), module(rows))
        module[0].weight.mul_(0.5)
        torch.testing.assert_close(compiled(ROWS), module(ROWS))
    compiled(ROWS).square().sum().backward()
    found = [p.grad.clone() for p in module.parameters()]
    module.zero_grad()
    module(ROWS).square().sum().backward()
    torch.testing.assert_close(found, [p.grad for p in module.parameters()])

    def counts(x: Any) -> Any:
        x[0] += 1
        return x.sum(1), x.shape[0]

    a, b = ROWS.clone(), ROWS.clone()
    torch.testing.assert_close(torch.compile(counts, backend=relax_dynamo("zero"))(a)[0], counts(b)[0])
    torch.testing.assert_close(a, b)


def test_options_of_torch_compile() -> None:
    """`options` are those of `baton.compile`, and every mode of PyTorch is one; others are refused by name."""
    torch._dynamo.reset()
    module = seeded(lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True))
    rows = floats(2, 3, 4)
    with torch.no_grad():
        compiled = torch.compile(module, backend="baton", options={"num_threads": 1, "opt_level": 1})
        torch.testing.assert_close(compiled(rows), module(rows))
    small = nn.Linear(4, 2)
    tuned = torch.compile(small, backend="baton", mode="reduce-overhead")
    torch.testing.assert_close(tuned(ROWS), small(ROWS))
    for given, message in (({"options": {"threads": 1}}, "no option 'threads'"), ({"mode": "fast"}, "no mode 'fast'")):
        with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match=message):
            torch.compile(nn.Linear(4, 3), backend="baton", **given)(ROWS)


def test_frozen_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants while nobody changes them: written to in place, replaced or loaded, they are inputs again."""
    torch._dynamo.reset()
    counts: list[int] = []
    plain = CompiledGraph._compile
    monkeypatch.setattr(
        CompiledGraph, "_compile", lambda graph, frozen: counts.append(len(frozen)) or plain(graph, frozen)
    )
    module = seeded(lambda: nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Linear(5, 2)))
    compiled = torch.compile(module, backend="baton", options={"freeze": True})

    def same(rows: Any) -> None:
        torch.testing.assert_close(compiled(rows), module(rows))

    other = ROWS * 2
    with torch.inference_mode():
        same(ROWS)
        same(other)
    assert counts == [8], "all parameters and statistics are constants, compiled once"
    with torch.no_grad():
        module[0].weight.mul_(0.5)
    with torch.inference_mode():
        same(ROWS)
    assert counts == [8, 7]
    module[0].bias.data = torch.ones(5)
    module.load_state_dict({name: value * 2 for name, value in module.state_dict().items()})
    with torch.inference_mode():
        same(ROWS)
    assert counts == [8, 7, 0]


def test_weights_whose_changes_are_not_counted_are_not_frozen() -> None:
    torch._dynamo.reset()
    with torch.inference_mode():
        compiled = torch.compile(nn.Linear(4, 3), backend="baton", options={"freeze": True})
        with pytest.raises(DiagnosticError, match=r"a weight of shape \(3, 4\) was made under torch.inference_mode"):
            compiled(ROWS)


def test_torch_compile_with_constants_and_quotients() -> None:
    """Tensors that the program makes of numbers; sizes that it divides as floats."""
    torch._dynamo.reset()

    def windows(x: Any) -> Any:
        parts = int(x.shape[0] / 2)
        return x.view(parts, -1) + torch.tensor([[1.0, 0, 0, 2]]).repeat(1, 2), math.ceil(x.shape[0] / 4)

    compiled = torch.compile(windows, backend="baton", dynamic=True)
    for rows in (floats(6, 4), floats(8, 4)):
        torch.testing.assert_close(compiled(rows), windows(rows))


def test_captured_subgraphs() -> None:
    module = seeded(perceptron)
    with torch.no_grad():
        captured = dynamo_capture_subgraphs(module, ROWS)
        kept = dynamo_capture_subgraphs(module, ROWS, keep_params_as_input=True)
    assert [v.name_hint for v in captured.get_global_vars()] == ["subgraph_0"]
    assert len(captured["subgraph_0"].params) == 1
    assert len(kept["subgraph_0"].params) == 5


def test_baton_does_not_need_torch() -> None:
    """Nothing of it is imported before a program of PyTorch is given."""
    code = "import sys, baton; baton.compile; import baton.relax.frontend.torch; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_functions_that_the_user_converts() -> None:
    """`custom_convert_map` of `from_fx` was unknown: it was a TypeError."""

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.rows(x)) + torch.relu(x), torch.add(x, x, alpha=2)

    def leaky(node: Any, context: Any) -> Any:
        (x,) = context.retrieve_args(node)
        assert context.env[node.args[0]] is x
        return context.block_builder.emit(relax.op.nn.leakyrelu(x, 0.5))

    def narrow(node: Any, context: Any) -> Any:
        return relax.op.astype(context.env[node.args[0]], "float16")

    model, x = Twice(), floats(2, 4)
    graph, infos = torch.fx.symbolic_trace(model), [((2, 4), "float32")]
    found = baton.compile(from_fx(graph, infos, custom_convert_map={"relu": leaky, "tanh": leaky}))(as_array(x))
    leak = nn.functional.leaky_relu
    assert_same(found, [leak(model.rows(x), 0.5) + leak(x, 0.5), 3 * x], "converted")
    assert_same(baton.compile(from_fx(graph, infos))(as_array(x)), model(x), "as it was")
    with pytest.raises(DiagnosticError, match=r"the converter of 'relu\w*' gives .*float16.*, the function float32"):
        from_fx(graph, infos, custom_convert_map={"relu": narrow})
