"""Training: optimizers against their formulas in NumPy, losses against theirs, and networks that learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton
from baton import relax, tir
from baton._src.support.diagnostics import DiagnosticError
from baton.relax.training import AppendLoss, SetupTrainer, Trainer
from baton.relax.training.loss import CategoricalCrossEntropyLoss, CrossEntropyLoss, L1Loss, MSELoss
from baton.relax.training.optimizer import SGD, Adam, MomentumSGD, Optimizer
from tests.relax.build import load

Ts = relax.TensorStructInfo
RNG = np.random.default_rng(0)
Arrays = list[np.ndarray]


def run(function: relax.Function, *args: Any) -> Any:
    name = str(function.attrs["global_symbol"])
    return relax.VirtualMachine(relax.build(baton.IRModule({name: function})), baton.cpu())[name](*args)


def momentum(nesterov: bool) -> Callable[[Arrays, Arrays, dict[Any, Any]], Arrays]:
    def step(params: Arrays, grads: Arrays, memory: dict[Any, Any]) -> Arrays:
        found = []
        for n, (p, g) in enumerate(zip(params, grads)):
            g = g + 0.02 * p
            memory[n] = 0.9 * memory.get(n, 0) + 0.85 * g
            found.append(p - 0.1 * (g + 0.9 * memory[n] if nesterov else memory[n]))
        return found

    return step


def adam(params: Arrays, grads: Arrays, memory: dict[Any, Any]) -> Arrays:
    t = memory["t"] = memory.get("t", 0) + 1
    found = []
    for n, (p, g) in enumerate(zip(params, grads)):
        g = g + 0.02 * p
        m, v = memory.get(n, (0, 0))
        m, v = 0.8 * m + 0.2 * g, 0.95 * v + 0.05 * g * g
        memory[n] = (m, v)
        found.append(p - 0.1 * (m / (1 - 0.8**t)) / (np.sqrt(v / (1 - 0.95**t)) + 1e-6))
    return found


@pytest.mark.parametrize(
    ("optimizer", "formula"),
    [
        (SGD(0.1, 0.02), lambda ps, gs, _: [p - 0.1 * (g + 0.02 * p) for p, g in zip(ps, gs)]),
        (MomentumSGD(0.1, 0.9, 0.15, 0.02), momentum(False)),
        (MomentumSGD(0.1, 0.9, 0.15, 0.02, True), momentum(True)),
        (Adam(0.1, (0.8, 0.95), 1e-6, 0.02), adam),
    ],
)
def test_optimizers_are_their_formulas(optimizer: Optimizer, formula: Any) -> None:
    """Guards several steps in a row, so that states are carried on."""
    variables = [relax.Var("w", Ts((3, 2))), relax.Var("b", Ts((2,)))]
    step = optimizer.init(variables).get_function()
    machine = relax.VirtualMachine(relax.build(baton.IRModule({optimizer.name: step})), baton.cpu())
    params = [RNG.normal(size=s).astype("float32") for s in ((3, 2), (2,))]
    ours: Any = tuple(params)
    states: Any = optimizer.state
    memory: dict[Any, Any] = {}
    for count in range(1, 4):
        grads = [RNG.normal(size=p.shape).astype("float32") for p in params]
        ours, states = machine[optimizer.name](ours, tuple(grads), states)
        params = formula(params, grads, memory)
        for found, expected in zip(ours, params):
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5)
        assert states[0].numpy() == count


def log_softmax(x: np.ndarray) -> Any:
    shifted = x - x.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses(reduction: str) -> None:
    reduce: Any = {"mean": np.mean, "sum": np.sum, "none": np.asarray}[reduction]
    x, y = RNG.normal(size=(4, 5)).astype("float32"), RNG.normal(size=(4, 5)).astype("float32")
    classes = np.array([1, 0, 4, 2])
    soft = np.abs(y)
    info = Ts((4, 5))
    picked = -log_softmax(x)[np.arange(4), classes]
    for loss, targets, expected in (
        (L1Loss(reduction), y, np.abs(x - y)),
        (MSELoss(reduction), y, (x - y) ** 2),
        (CrossEntropyLoss(reduction), classes, picked),
        (CategoricalCrossEntropyLoss(reduction), soft, -soft * log_softmax(x)),
        (
            CategoricalCrossEntropyLoss(reduction),
            np.eye(5, dtype="int64")[classes],
            -np.eye(5)[classes] * log_softmax(x),
        ),
        (CategoricalCrossEntropyLoss(reduction, 1), soft, -(soft * (np.arange(5) != 1)) * log_softmax(x)),
    ):
        said = Ts(targets.shape, str(targets.dtype))
        found = run(loss(info, said), x, targets).numpy()
        np.testing.assert_allclose(found, reduce(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_one_hot_targets_of_which_a_class_does_not_count(reduction: str) -> None:
    """Guards that they are classes then: the losses are those of CrossEntropyLoss, weights included."""
    x, weights = RNG.normal(size=(4, 5)).astype("float32"), RNG.uniform(1, 2, 5).astype("float32")
    classes = np.array([1, 0, 4, 1])
    infos = (Ts((4, 5)), Ts((4, 5), "int32"), Ts((5,)))
    found = run(CategoricalCrossEntropyLoss(reduction, 1)(*infos), x, np.eye(5, dtype="int32")[classes], weights)
    expected = run(CrossEntropyLoss(reduction, 1)(infos[0], Ts((4,), "int64"), infos[2]), x, classes, weights)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


STEP = """
@I.ir_module
class Module:
    @R.function
    def {name}(
        params: R.Tuple(R.Tensor((3,), "float32")), grads: R.Tuple(R.Tensor((3,), "float32")), states: R.Tuple({infos})
    ) -> R.Tuple(R.Tuple(R.Tensor((3,), "float32")), R.Tuple({infos})):
        with R.dataflow():
            num_steps = states[0]
            num_steps_new = R.add(num_steps, R.const(1, "int64"))
            w = params[0]
            w_grad = grads[0]{lines[0]}
            made = (w_new,)
            held = {lines[1]}
            R.output(made, held)
        return (made, held)
"""
STEPS = {
    "sgd": (
        SGD(0.1, 0.02),
        'R.Tensor((), "int64")',
        """
            w_wide = R.multiply(R.const(0.02, "float32"), w)
            w_grad_new = R.add(w_wide, w_grad)
            w_part = R.multiply(R.const(0.1, "float32"), w_grad_new)
            w_new = R.subtract(w, w_part)""",
        "(num_steps_new,)",
    ),
    "momentum": (
        MomentumSGD(0.1, 0.8, 0.9, nesterov=True),
        'R.Tensor((), "int64"), R.Tensor((3,), "float32")',
        """
            w_v = states[1]
            kept = R.multiply(R.const(0.8, "float32"), w_v)
            damped = R.multiply(R.const(0.1, "float32"), w_grad)
            w_v_new = R.add(kept, damped)
            ahead = R.multiply(R.const(0.8, "float32"), w_v_new)
            w_g_nest = R.add(w_grad, ahead)
            w_part = R.multiply(R.const(0.1, "float32"), w_g_nest)
            w_new = R.subtract(w, w_part)""",
        "(num_steps_new, w_v_new)",
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_the_steps_are_written_as_in_tvm(name: str) -> None:
    """Guards order and constants (0.1 = 1 - 0.9 of decimals), which scripts compare by structure."""
    optimizer, infos, *lines = STEPS[name]
    expected = load(STEP.format(name=optimizer.name, infos=infos, lines=lines))
    found = optimizer.init(relax.Var("w", Ts((3,)))).get_function()
    baton.ir.assert_structural_equal(found, expected[optimizer.name])


NETWORK = """
@I.ir_module
class Net:
    I.module_attrs({"param_num": 2, "state_num": 0})

    @R.function
    def backbone(
        x: R.Tensor((16, 3), "float32"), w: R.Tensor((3, 2), "float32"), b: R.Tensor((2,), "float32")
    ) -> R.Tensor((16, 2), "float32"):
        with R.dataflow():
            y = R.add(R.matmul(x, w), b)
            R.output(y)
        return y
"""
WITH_STATE = """
@I.ir_module
class Net:
    I.module_attrs({"param_num": 1, "state_num": 1})

    @R.function
    def backbone(
        x: R.Tensor((4, 3), "float32"), w: R.Tensor((3, 2), "float32"), seen: R.Tensor((), "float32")
    ) -> R.Tuple(R.Tensor((4, 2), "float32"), R.Tensor((), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            count = R.add(seen, R.const(1.0, "float32"))
            R.output(y, count)
        return (y, count)
"""


def trainer(text: str, loss: Any, optimizer: Optimizer, *loss_args: Any) -> Trainer:
    made = SetupTrainer(loss, optimizer, list(loss_args))(load(text))
    return Trainer(made, relax.VirtualMachine(relax.build(made), baton.cpu()), baton.cpu())


@pytest.mark.parametrize("optimizer", [SGD(0.1), MomentumSGD(0.05, 0.9), Adam(0.05)])
def test_a_network_learns(optimizer: Optimizer) -> None:
    """Guards the whole: the loss of a linear problem falls near zero, and the weights are those it was made with."""
    x = RNG.normal(size=(16, 3)).astype("float32")
    truth = RNG.normal(size=(3, 2)).astype("float32")
    y = x @ truth + np.array([1, -1], "float32")
    learner = trainer(NETWORK, MSELoss(), optimizer, Ts((16, 2)), Ts((16, 2)))
    learner.xaiver_uniform_init_params()
    losses = [float(learner.update(x, y).numpy()) for _ in range(300)]
    assert losses[-1] < 1e-2 * losses[0]
    np.testing.assert_allclose(learner.export_params()["w"].numpy(), truth, atol=0.2)
    np.testing.assert_allclose(learner.predict(x).numpy(), y, atol=0.5)


def test_states_are_carried_on() -> None:
    learner = trainer(WITH_STATE, CrossEntropyLoss(), SGD(0.5), Ts((4, 2)), Ts((4,), "int64"))
    learner.load_params({"w": np.ones((3, 2), "float32")})
    x, y = RNG.normal(size=(4, 3)).astype("float32"), np.array([0, 1, 1, 0])
    first = learner.update(x, y)
    for _ in range(20):
        last = learner.update(x, y)
    assert float(last.numpy()) < float(first.numpy())
    assert learner.export_states()["seen"].numpy() == 21
    assert learner.predict(x).shape == (4, 2)


NORMALISED = """
@I.ir_module
class Net:
    I.module_attrs({"param_num": 2, "state_num": 2})

    @R.function
    def backbone(
        x: R.Tensor((8, 3), "float32"), scale: R.Tensor((3,), "float32"), shift: R.Tensor((3,), "float32"),
        mean: R.Tensor((3,), "float32"), var: R.Tensor((3,), "float32"),
    ):
        with R.dataflow():
            both = R.nn.batch_norm(x, scale, shift, mean, var, axis=1)
            y = both[0]
            new_mean = both[1]
            new_var = both[2]
            R.output(y, new_mean, new_var)
        return (y, new_mean, new_var)
"""


def test_a_normalised_network_learns_from_the_batch_and_predicts_with_its_states() -> None:
    """Guards the two meanings of batch_norm: `backbone` is for inference, `backbone_loss` for training."""
    learner = trainer(NORMALISED, MSELoss(), SGD(0.0), Ts((8, 3)), Ts((8, 3)))
    learner.load_params([np.ones(3, "float32"), np.zeros(3, "float32")])
    learner.load_states([np.full(3, 2, "float32"), np.full(3, 4, "float32")])
    x, zero = RNG.normal(size=(8, 3)).astype("float32"), np.zeros((8, 3), "float32")
    np.testing.assert_allclose(learner.predict(x).numpy(), (x - 2) / np.sqrt(4 + 1e-5), rtol=1e-5)
    np.testing.assert_allclose(learner.update(x, zero).numpy(), 1, rtol=1e-3)  # of mean 0 and variance 1
    np.testing.assert_allclose(learner.export_states()["mean"].numpy(), 0.9 * 2 + 0.1 * x.mean(0), rtol=1e-5)


def test_what_training_starts_with() -> None:
    """Guards the distribution, which NumPy's seed fixes, and names that scripts look up."""
    learner = trainer(NETWORK, MSELoss(), SGD(0.1), Ts((16, 2)), Ts((16, 2)))
    np.random.seed(3)
    learner.xaiver_uniform_init_params()
    np.random.seed(3)
    expected = [np.sqrt(6 / sum(s)) * np.random.uniform(-1, 1, s) for s in ((3, 2), (2,))]
    for found, value in zip(learner.export_params().values(), expected):
        np.testing.assert_allclose(found.numpy(), value, rtol=1e-6)
    made = SetupTrainer(MSELoss(), SGD(0.1), [Ts((16, 2)), Ts((16, 2))], legalize=False)(load(NETWORK))
    assert {v.name_hint for v in made.functions} == {"backbone", "backbone_loss", "backbone_loss_adjoint", "optimizer"}
    assert int(made.attrs["input_num"]) == 1
    with pytest.raises(ValueError, match="2 parameters, given 1"):
        learner.load_params([np.ones((3, 2), "float32")])


def test_a_loss_is_appended() -> None:
    """Guards names, attributes, parameters and further results of the network, which the one block gives out."""
    loss = MSELoss("sum")(Ts((4, 2)), Ts((4, 2)))
    found = AppendLoss("backbone", loss, 1)(load(WITH_STATE))["backbone_loss"]
    assert [p.name_hint for p in found.params] == ["x", "w", "seen", "targets"]
    assert len(found.ret_struct_info.fields) == 2
    (block,) = found.body.blocks
    shown = [b.var.name_hint for b in block.bindings if not isinstance(b.var, relax.DataflowVar)]
    assert [v.name_hint for v in found.body.body.fields] == shown[::-1]
    assert len(shown) == 2


def test_any_size_of_batch() -> None:
    """Guards symbolic shapes: the targets have the network's own dims."""
    text = NETWORK.replace("(16, 3)", '("n", 3)').replace("(16, 2)", '("n", 2)')
    rows = Ts((tir.Var("rows", "int64"), 2))  # a variable of the script's own is the network's n
    learner = trainer(text, MSELoss(), SGD(0.1), rows, rows)
    x, y = RNG.normal(size=(5, 3)).astype("float32"), RNG.normal(size=(5, 2)).astype("float32")
    np.testing.assert_allclose(learner.update(x, y).numpy(), np.mean(y * y), rtol=1e-5)
    assert learner.predict(x[:2]).shape == (2, 2)


def test_what_is_set_up_wrongly() -> None:
    without = load(NETWORK.replace('"param_num": 2, ', ""))
    with pytest.raises(DiagnosticError, match="has no attribute param_num"):
        SetupTrainer(MSELoss(), SGD(0.1), [Ts((16, 2)), Ts((16, 2))])(without)
    with pytest.raises(DiagnosticError, match="first say what backbone gives"):
        trainer(NETWORK, MSELoss(), SGD(0.1), Ts((16, 2)))
    with pytest.raises(DiagnosticError, match=r"backbone gives R\.Tensor"):
        trainer(NETWORK, CrossEntropyLoss(), SGD(0.1), Ts((16,), "int64"), Ts((2,)))
    with pytest.raises(DiagnosticError, match="reduction must be one of"):
        MSELoss("max")
    with pytest.raises(DiagnosticError, match="no parameter 'v'"):
        trainer(NETWORK, MSELoss(), SGD(0.1), Ts((16, 2)), Ts((16, 2))).load_params({"v": np.ones(1)})
    with pytest.raises(DiagnosticError, match="no tensor of constant shape"):
        SGD(0.1).init([relax.Var("w", relax.TensorStructInfo(ndim=2))])
    weight = relax.Var("w", Ts((2,)))
    for given, said in ((["w"], "got str"), ([], "one parameter or more"), ([weight, weight], "each once")):
        with pytest.raises(ValueError, match=said):
            SGD(0.1).init(given)
