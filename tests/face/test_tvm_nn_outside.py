"""nn.Module.jit, nn.Mutator and external functions, as programs for TVM v0.19 write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, te
from baton.error import DiagnosticError
from baton.relax.frontend import nn

SPEC = {"forward": {"x": nn.spec.Tensor((2, 4), "float32")}}


class Net(nn.Module):
    def __init__(self) -> None:
        self.up = nn.Linear(4, 3, bias=False)
        self.rest = nn.ModuleList([nn.ReLU(), nn.Linear(3, 2, bias=False)])

    def forward(self, x: nn.Tensor) -> Any:
        return self.rest(self.up(x))


class Remembers(nn.Module):
    """Keeps scaled rows from one call to the next."""

    def __init__(self) -> None:
        self.scale = nn.Parameter((2,), "float32")
        self.rows = nn.KVCache(2, [2])

    def forward(self, x: Any, t: Any) -> Any:
        self.rows.append(x * self.scale)
        return self.rows.view(t[1]) + t[0]

    def plain(self, x: Any) -> Any:
        return x * self.scale


def filled() -> Net:
    net = Net()
    for _, parameter in net.named_parameters():
        parameter.data = tvm.nd.array(np.full([int(d) for d in parameter.shape], 0.5, "float32"))
    return net


def test_jit_gives_a_machine_and_functions_of_torch() -> None:
    ones = np.ones((2, 4), "float32")
    spec, machine, values = filled().jit(SPEC, out_format="raw")
    assert spec.method_names == ["forward"]
    np.testing.assert_allclose(machine["forward"](ones, *values).numpy(), np.full((2, 2), 3.0))
    torch = pytest.importorskip("torch")
    found = filled().jit(SPEC, debug=True)["forward"](torch.ones(2, 4))
    assert isinstance(found, torch.Tensor)
    assert found.tolist() == [[3.0, 3.0], [3.0, 3.0]]


@pytest.mark.parametrize("mode", ["plain", "packed"])
def test_jit_passes_parameters_and_effects_as_the_spec_says(mode: str) -> None:
    """Packed ones were given one by one, and numbers within tuples as numbers: the methods refused both."""
    torch = pytest.importorskip("torch")
    net = Remembers()
    net.scale.data = np.full((2,), 3, "float32")
    modes = {"param_mode": mode, "effect_mode": mode}
    taken = {"x": nn.spec.Tensor([1, 2], "float32"), "t": nn.spec.Tuple("t", [nn.spec.Tensor([2], "float32"), int])}
    plain = {"x": nn.spec.Tensor([1, 2], "float32"), "$": {"param_mode": mode, "effect_mode": "none"}}
    methods = net.jit({"forward": {**taken, "$": modes}, "plain": plain})
    one = torch.ones(1, 2)
    assert methods["forward"](one, (torch.ones(2), 1)).tolist() == [[4, 4]]
    assert methods["forward"](one * 2, (torch.zeros(2), 2)).tolist() == [[3, 3], [6, 6]]
    assert methods["plain"](one).tolist() == [[3, 3]]


def test_jit_says_what_it_lacks() -> None:
    with pytest.raises(ValueError, match="unknown out_format"):
        filled().jit(SPEC, out_format="other")
    with pytest.raises(ValueError, match=r"up\.weight has no value"):
        Net().jit(SPEC, out_format="raw")


def test_a_mutator_sees_paths_and_replaces() -> None:
    seen: list[str] = []

    class Change(nn.Mutator):
        def visit_module(self, name: str, node: Any) -> Any:
            node = self.visit(name, node)
            return nn.SiLU() if isinstance(node, nn.ReLU) else node

        def visit_param(self, name: str, node: Any) -> Any:
            seen.append(name)
            return node

    net = Change().visit_module("", filled())
    assert seen == ["up.weight", "rest.1.weight"]
    assert isinstance(net.rest[0], nn.SiLU)


class Tripled(nn.ExternModule):
    def load(self) -> None:
        return None


class Outside(nn.Module):
    def __init__(self) -> None:
        self.kernels = Tripled({"tests.nn.triple": lambda x: nn.Tensor.placeholder(x.shape, x.dtype)})

    def forward(self, x: nn.Tensor) -> Any:
        nn.add_extern(self.kernels)
        return self.kernels["tests.nn.triple"](x)


def test_functions_from_outside() -> None:
    tvm.register_func("tests.nn.triple", lambda x, out: out.copyfrom(x.numpy() * 3), override=True)
    spec = {"forward": {"x": nn.spec.Tensor(("n",), "float32")}}
    module, _, outside = Outside().export_tvm(spec, allow_extern=True)
    assert len(outside) == 1
    machine = relax.VirtualMachine(relax.build(module), tvm.cpu())
    assert machine["forward"](np.ones(2, "float32")).numpy().tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="external modules"):
        Outside().export_tvm(spec)
    for refused in (lambda: nn.SourceModule({}, "", "cpp"), lambda: nn.ObjectModule({}, "kernels.o")):
        with pytest.raises(DiagnosticError, match="no compiler or linker"):
            refused()


def test_functions_of_external_modules_are_attached() -> None:
    """Guards what `load` gives: a built module, of which the functions that are named can be called."""

    class Built(nn.ExternModule):
        def load(self) -> Any:
            x = te.placeholder((2,), name="x")
            doubled = te.compute((2,), lambda i: x[i] * 2, name="doubled")
            kernel = te.create_prim_func([x, doubled]).with_attr("global_symbol", "tests.nn.double")
            return tvm.build(tvm.IRModule({"tests.nn.double": kernel}), "llvm")

    class Net(nn.Module):
        def __init__(self) -> None:
            self.kernels = Built({"tests.nn.double": lambda x: nn.Tensor.placeholder(x.shape, x.dtype)})

        def forward(self, x: nn.Tensor) -> Any:
            nn.add_extern(self.kernels)
            return self.kernels["tests.nn.double"](x)

    spec = {"forward": {"x": nn.spec.Tensor((2,), "float32")}}
    module, _, extern_modules = Net().export_tvm(spec, allow_extern=True)
    attached = relax.transform.AttachExternModules(extern_modules)(module)
    assert len(attached.attrs["external_mods"]) == 1
    machine = relax.VirtualMachine(relax.build(attached), tvm.cpu())
    assert machine["forward"](np.ones(2, "float32")).numpy().tolist() == [2.0, 2.0]
    with pytest.raises(DiagnosticError, match=r"takes nn\.ExternModules, not a str"):
        relax.transform.AttachExternModules(["kernels.o"])(module)
