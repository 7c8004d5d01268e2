"""What is not supported is refused with its reason, all of it at once, and files run nothing."""

from __future__ import annotations

import json
import pickle  # noqa: TID251 - to make files that must be refused
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import baton
from baton._src.driver.compile.open_model import open_model
from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.relay_graph import RelayGraph
from baton._src.frontends.torch.node import AtenNode
from baton._src.support.diagnostics import DiagnosticError
from baton.relax.frontend.torch import from_exported_program, from_fx
from baton.relay.frontend import from_pytorch
from tests.frontends.torch.cases.inputs import floats
from tests.frontends.torch.comparing import as_array, assert_same
from tests.frontends.torch.modules import seeded

ROWS = floats(3, 4)


def refusal(module: Any, *inputs: Any) -> DiagnosticError:
    with pytest.raises(DiagnosticError) as caught:
        baton.compile(torch.export.export(module, inputs))
    return caught.value


def test_all_unsupported_operators_at_once() -> None:
    """With how often they are used, and the lines of the user's program."""

    class Strange(nn.Module):
        def forward(self, x: Any) -> Any:
            y = torch.special.airy_ai(x)
            return torch.special.hermite_polynomial_h(y, x) + torch.special.airy_ai(y) + torch.relu(x)

    error = refusal(Strange(), ROWS)
    assert [d.code for d in error.diagnostics] == ["torch-unsupported-op"] * 2
    first = error.diagnostics[0].message
    assert "aten.special_airy_ai.default is not supported (used 2x: test_refusals.py:" in first
    assert "y = torch.special.airy_ai(x)" in first


@torch.library.custom_op("baton_test::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def test_operators_of_the_user() -> None:
    """They are refused by name, with the way to say them in terms of PyTorch, which works."""

    class Twice(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.ops.baton_test.twice(x) + 1

    told = r"run_decompositions\({torch.ops.baton_test.twice.default: function}\)"
    with pytest.raises(DiagnosticError, match=r"operator baton_test.twice.default") as caught:
        baton.compile(exported := torch.export.export(Twice(), (ROWS,)))
    assert re.search(told, str(caught.value))
    said = exported.run_decompositions({torch.ops.baton_test.twice.default: lambda x: x + x})
    assert_same(baton.compile(said)(as_array(ROWS)), [ROWS * 2 + 1], "said")


@pytest.mark.parametrize("scripted", [False, True], ids=["traced", "scripted"])
def test_lines_of_torchscript(scripted: bool) -> None:
    """Programs of TorchScript are named by the lines they were written in."""

    class Strange(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.special.hermite_polynomial_h(x, x) + 1

    script = torch.jit.script(Strange()) if scripted else torch.jit.trace(Strange(), ROWS)
    with pytest.raises(
        DiagnosticError,
        match=r"\(used 1x: test_refusals\.py:\d+: return torch\.special\.hermite_\w+\(x, x\) \+ 1",
    ):
        from_pytorch(script, [("data", (3, 4))])


def test_dropout_in_training_is_refused() -> None:
    assert "random" in str(refusal(nn.Dropout().train(), ROWS))


def test_random_numbers_are_refused() -> None:
    """With what to do instead: functions have no generator to take a seed from."""

    class Noisy(nn.Module):
        def forward(self, x: Any) -> Any:
            return x + torch.randn_like(x) * torch.bernoulli(x)

    error = refusal(Noisy(), ROWS)
    assert [d.code for d in error.diagnostics] == ["torch-random"] * 2
    assert "aten.rand.default draws random numbers (used 1x: test_refusals.py:" in error.diagnostics[0].message
    assert "torch.manual_seed" in str(error.diagnostics[0].help)


def test_operators_that_write_into_their_inputs_are_named() -> None:
    """PyTorch wraps them; the wrapper was named."""
    with torch.library._scoped_library("refusals", "FRAGMENT") as library:
        library.define("counted(Tensor(a!) x) -> ()")
        library.impl("counted", lambda x: None, "CompositeExplicitAutograd")

        class Counting(nn.Module):
            def forward(self, x: Any) -> Any:
                counts = x.clone()
                torch.ops.refusals.counted(counts)
                return counts

        error = str(refusal(Counting(), ROWS))
    assert "operator refusals.counted.default is not supported (used 1x: test_refusals.py:" in error
    assert "let it return what it writes" in error


def test_effects_are_refused_by_name() -> None:
    """PyTorch keeps prints in order by tokens."""

    class Printing(nn.Module):
        def forward(self, x: Any) -> Any:
            torch.ops.aten._print("seen")
            return x + 1

    exported = torch.export.export(Printing(), (ROWS,))
    with pytest.raises(DiagnosticError, match=r"aten._print.default \(test_refusals.py:\d+: "):
        from_exported_program(exported)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda x: torch.linalg.inv(x - x) + 1, r"linalg_inv_ex.*matrix 0 of the batch: pivot 1 is zero"),
        (lambda x: torch.linalg.solve(x - x, x), r"linalg_lu_factor_ex.*pivot 1 is zero"),
        (
            lambda x: torch.linalg.cholesky(x * torch.tensor([1.0, -1, 1])),
            r"matrix 0 .*leading minor 2 is not positive",
        ),
    ],
    ids=["inverse", "solution", "factor"],
)
@pytest.mark.parametrize("alone", [False, True])
def test_matrices_without_factors_are_errors(function: Any, told: str, alone: bool) -> None:
    """PyTorch checks the numbers that say so, by an effect; the compiled program does where it computes them. (Of a
    matrix that is none of a batch it did not.)"""

    class Solving(nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x)

    matrices = torch.eye(3) if alone else torch.eye(3).repeat(2, 1, 1)
    told = told.replace("matrix 0 of the batch: ", "").replace("matrix 0 .*", "") if alone else told
    exported = torch.export.export(Solving(), (matrices,))
    with pytest.raises(DiagnosticError, match=told):
        baton.compile(exported)(matrices.numpy())
    torch._dynamo.reset()
    with pytest.raises(DiagnosticError, match=told):
        torch.compile(function, backend="baton")(matrices)


class Masked(nn.Module):
    """Writes values where a mask says so."""

    def __init__(self, write: Any) -> None:
        super().__init__()
        self.write = write

    def forward(self, x: Any, mask: Any, values: Any) -> Any:
        return self.write(x, mask, values)

    @staticmethod
    def put(x: Any, mask: Any, values: Any) -> Any:
        found = x.clone()
        found[mask] = values
        return found

    @staticmethod
    def scatter(x: Any, mask: Any, values: Any) -> Any:
        return torch.masked_scatter(x, mask, values)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("torch") / "model.pt2"
    exported = torch.export.export(
        seeded(Shifted), (ROWS,), dynamic_shapes=({0: torch.export.Dim("rows", max=9)},), strict=False
    )
    torch.export.save(exported, path)
    return path


class Shifted(nn.Module):
    """A weight, a constant, a size that is computed with."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        return (self.linear(x) + torch.tensor([1.0, 2.0])).view(x.shape[0] * 2) * (x.shape[0] // 2)


def test_files(saved: Path) -> None:
    assert_same(baton.compile(saved)(as_array(ROWS)), [seeded(Shifted)(ROWS)], "file")
    assert_same(open_model(saved)(as_array(floats(5, 4))), [seeded(Shifted)(floats(5, 4))], "opened")


def changed(saved: Path, path: Path, part: str, change: Any, compress: bool = False) -> Path:
    """The file with one part rewritten."""
    kind = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w", kind) as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(content) if name.endswith(part) else content)
    return path


class Bomb:
    """What runs when it is unpickled."""

    def __reduce__(self) -> Any:
        return (pytest.fail, ("a pickle was run",))


def rewritten(pattern: str, replacement: str) -> Any:
    return lambda content: content.replace(pattern.encode(), replacement.encode())


def test_pickled_inputs_are_not_looked_at(saved: Path, tmp_path: Path) -> None:
    path = changed(saved, tmp_path / "a.pt2", "sample_inputs/model.pt", lambda _: pickle.dumps(Bomb()))
    assert_same(baton.compile(path)(as_array(ROWS)), [seeded(Shifted)(ROWS)], "file")


@pytest.mark.parametrize(
    ("part", "change", "reason"),
    [
        ("weights_config.json", rewritten('"use_pickle": false', '"use_pickle": true'), "pickle"),
        ("constants_config.json", rewritten('"path_name": "tensor_0"', '"path_name": "opaque_obj_0"'), "pickle"),
        ("model.json", rewritten("torch.ops.aten.linear.default", "torch.hub.load"), "not an operator of aten"),
        ("model.json", rewritten("Symbol('s77'", "pytest.fail('s77'"), "is not a size"),
        ("model.json", rewritten('{"graph_module"', '{"x'), "cannot be read"),
        ("model.json", lambda content: content[: len(content) // 2], "cannot be read"),
    ],
    ids=["weight", "constant", "operator", "expression", "missing", "truncated"],
)
def test_dangerous_and_damaged_files(saved: Path, tmp_path: Path, part: str, change: Any, reason: str) -> None:
    before = zipfile.ZipFile(saved).read(next(n for n in zipfile.ZipFile(saved).namelist() if n.endswith(part)))
    assert change(before) != before, "the file is no longer what this test expects"
    path = changed(saved, tmp_path / "b.pt2", part, change)
    with pytest.raises(DiagnosticError, match=reason):
        baton.compile(path)


def test_other_files(saved: Path, tmp_path: Path) -> None:
    packed = changed(saved, tmp_path / "c.pt2", "nothing", None, compress=True)
    with pytest.raises(DiagnosticError, match="compressed"):
        baton.compile(packed)
    (tmp_path / "d.pt2").write_text(json.dumps({}))
    with pytest.raises(DiagnosticError, match="not an archive"):
        baton.compile(tmp_path / "d.pt2")
    torch.save(seeded(Shifted).state_dict(), tmp_path / "e.pt")
    for reading in (baton.compile, open_model):
        with pytest.raises(DiagnosticError, match="is a pickle"):
            reading(tmp_path / "e.pt")


@pytest.mark.parametrize("write", [Masked.put, Masked.scatter], ids=["index", "masked_scatter"])
def test_masks_that_pick_another_number_than_is_given(write: Any) -> None:
    """Too few values for a mask are an error of the call, as in PyTorch."""
    mask = torch.tensor([[True, False], [True, True]])
    model = baton.compile(torch.export.export(Masked(write), (floats(2, 2), mask, floats(3))))
    assert_same(
        model(as_array(floats(2, 2)), mask.numpy(), as_array(floats(3))), [write(floats(2, 2), mask, floats(3))], "mask"
    )
    with pytest.raises(DiagnosticError, match="is 3"):
        model(as_array(floats(2, 2)), (mask | True).numpy(), as_array(floats(3)))


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        (torch.fft.fft, ROWS, "returns a complex tensor"),
        (torch.abs, torch.ones(3, dtype=torch.complex64), "input '.*' is complex"),
        (lambda x: torch.fft.fft(x).softmax(1).real, ROWS, r"aten._softmax.default of complex tensors is not"),
    ],
    ids=["output", "input", "operator"],
)
def test_complex_tensors_that_do_not_fit(function: Any, given: Any, message: str) -> None:
    class Applied(nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x)

    with pytest.raises(DiagnosticError, match=message):
        baton.compile(torch.export.export(Applied(), (given,)))


def test_complex_numbers_among_real_ones() -> None:
    """Their imaginary part is not dropped."""
    number: Any = 1j
    with pytest.raises(DiagnosticError, match="1j is complex, where a real number is expected"):
        AtenNode("aten.add.Tensor", GraphBuilder(RelayGraph()), ()).tensor(number, "float32")


def test_modules_that_nobody_exported() -> None:
    """Each entrance says what makes its kind of program of a module."""
    module = nn.Linear(4, 3)
    entrances = [
        (lambda: from_exported_program(module), "torch.export.export"),
        (lambda: from_fx(module, [((3, 4), "float32")]), "torch.fx.symbolic_trace"),
        (lambda: from_pytorch(module, [("x", (3, 4))]), "torch.jit.trace"),
    ]
    for enter, way in entrances:
        with pytest.raises(DiagnosticError, match="got Linear") as caught:
            enter()
        assert way in str(caught.value)


def test_functions_of_torchscript() -> None:
    """They have no modules to look into; it was an AttributeError."""
    traced = torch.jit.trace(torch.relu, torch.ones(3))
    with pytest.raises(DiagnosticError, match=r"a module of torch\.jit is needed, got ScriptFunction"):
        from_pytorch(traced, [("x", (3,))])


@pytest.mark.parametrize("count", [0, 1, 3])
def test_inputs_that_are_not_described(count: int) -> None:
    """PyTorch said that a Tensor was None, or that zip() had arguments of several lengths."""
    traced = torch.jit.trace(nn.Bilinear(3, 3, 2), (torch.ones(1, 3), torch.ones(1, 3)))
    with pytest.raises(DiagnosticError, match=f"the model has the inputs input1, input2; {count} are described"):
        from_pytorch(traced, [(f"x{number}", (1, 3)) for number in range(count)])


class Doubled(torch.autograd.Function):
    """A function with its own gradient, which tracing keeps as a call of Python."""

    @staticmethod
    def forward(context: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(context: Any, given: Any) -> Any:
        return given * 2


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.GRU(4, 3, batch_first=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return self.cells(packed)[1]


class Applied(nn.Module):
    def forward(self, x: Any) -> Any:
        return Doubled.apply(x)


def quantised() -> nn.Module:
    return torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.GRUCell(4, 4)).eval(), {nn.GRUCell}, torch.qint8)


@pytest.mark.parametrize(
    ("module", "inputs", "message"),
    [
        (Applied(), [floats(3, 4)], "Doubled is a function of Python"),
        (Packed(), [floats(2, 3, 4), torch.tensor([3, 2])], "packed sequences are as long as their elements say"),
        (quantised(), [floats(3, 4)], "is an object of TorchScript .*, which is not supported"),
    ],
    ids=["python", "packed", "quantised"],
)
def test_what_torchscript_keeps_to_itself(module: nn.Module, inputs: list[Any], message: str) -> None:
    script = torch.jit.trace(module, inputs, check_trace=False)
    infos = [(f"x{k}", (tuple(x.shape), str(x.dtype).removeprefix("torch."))) for k, x in enumerate(inputs)]
    with pytest.raises(DiagnosticError, match=message):
        from_pytorch(script, infos)


@pytest.mark.parametrize("shape", [(5,), (5, 2)])
def test_unique_in_a_row_along_an_axis_from_behind(shape: tuple[int, ...]) -> None:
    """PyTorch's exporter gets its shape wrong, also that of a vector."""

    class Runs(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.unique_consecutive(x, dim=-1)

    assert refusal(Runs(), floats(*shape)).diagnostics[0].help == f"say dim={len(shape) - 1}"


def test_nested_tensors() -> None:
    """The length that is nested was read as a number when the program ran: an error of Python's."""
    torch._dynamo.reset()
    nested = torch.nested.nested_tensor([ROWS, ROWS[:2]], layout=torch.jagged)
    with pytest.raises(Exception, match=r"nested tensor \(torch.nested\): they are not supported"):
        torch.compile(lambda x: x * 2 + 1, backend="baton")(nested)
