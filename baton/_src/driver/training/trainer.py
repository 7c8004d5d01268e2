"""Trainer: holds parameters and states, predicts, and learns step by step.

    train = SetupTrainer(MSELoss(), SGD(0.1), [predictions_info, targets_info])(module)
    trainer = Trainer(train, relax.VirtualMachine(relax.build(train), baton.cpu()), baton.cpu())
    trainer.xaiver_uniform_init_params()
    loss = trainer.update(x, y)

API (and spelling) as `tvm.relax.training.trainer` v0.19.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.driver.training.optimizer import wrong
from baton._src.driver.training.setup_trainer import SetupTrainer
from baton._src.ir.module import IRModule
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.values.convert import from_host
from baton._src.values.tensor import NDArray, array


class Trainer:
    """See the module. `train_mod` is what `SetupTrainer` gave, `vm` runs it."""

    BACKBONE_FUNC = SetupTrainer.BACKBONE_FUNC
    BACKBONE_LOSS_FUNC = SetupTrainer.BACKBONE_LOSS_FUNC
    ADJOINT_FUNC = SetupTrainer.ADJOINT_FUNC
    OPTIMIZER_FUNC = SetupTrainer.OPTIMIZER_FUNC
    PARAM_NUM_ATTR_KEY = SetupTrainer.PARAM_NUM_ATTR_KEY
    STATE_NUM_ATTR_KEY = SetupTrainer.STATE_NUM_ATTR_KEY

    def __init__(
        self, train_mod: IRModule, vm: VirtualMachine, device: Any = None, zero_init_param_state: bool = True
    ) -> None:
        self.vm, self.device = vm, device
        said = train_mod.attrs
        if any(k not in said for k in (self.PARAM_NUM_ATTR_KEY, self.STATE_NUM_ATTR_KEY, "input_num", "optim_state")):
            raise wrong("a Trainer takes the module that SetupTrainer gives")
        params, states = int(said[self.PARAM_NUM_ATTR_KEY]), int(said[self.STATE_NUM_ATTR_KEY])
        backbone = train_mod[self.BACKBONE_FUNC]
        self.num_inputs = int(said["input_num"])
        self._param_vars = list(backbone.params[self.num_inputs : self.num_inputs + params])
        self._state_vars = list(backbone.params[self.num_inputs + params :])
        self._optim_states: tuple[Any, ...] = tuple(said["optim_state"])
        self._params: list[NDArray | None] = [None] * params
        self._states: list[NDArray | None] = [None] * states
        if zero_init_param_state:
            self.zero_init_params()
            self.zero_init_states()

    # --------------------------------------------------------------------------------- values to start with

    def xaiver_uniform_init_params(self) -> None:
        """Glorot's uniform distribution: up to the root of 6 / (the sum of the dims), drawn from NumPy's generator."""
        for number, var in enumerate(self._param_vars):
            shape, dtype = _shape_and_dtype(var)
            limit = np.sqrt(6.0 / sum(shape)) if sum(shape) else 0.0
            self._params[number] = array((limit * np.random.uniform(-1.0, 1.0, shape)).astype(dtype))

    def zero_init_params(self) -> None:
        """Zeros for all parameters."""
        self._params = [array(np.zeros(*_shape_and_dtype(v))) for v in self._param_vars]

    def zero_init_states(self) -> None:
        """Zeros for all states."""
        self._states = [array(np.zeros(*_shape_and_dtype(v))) for v in self._state_vars]

    def load_params(self, extern_param_dict: Mapping[str, Any] | Sequence[Any]) -> None:
        """Parameters by name, others stay as they are; or all in order."""
        self._load(extern_param_dict, self._param_vars, self._params, "parameter")

    def load_states(self, extern_state_dict: Mapping[str, Any] | Sequence[Any]) -> None:
        """States by name, others stay as they are; or all in order."""
        self._load(extern_state_dict, self._state_vars, self._states, "state")

    def _load(self, given: Mapping[str, Any] | Sequence[Any], variables: list[Any], held: list[Any], kind: str) -> None:
        places = {v.name_hint: n for n, v in enumerate(variables)}
        if not isinstance(given, Mapping):
            if len(given) != len(variables):
                raise wrong(f"the network has {len(variables)} {kind}s, given {len(given)}")
            given = dict(zip(places, given))
        for name, value in given.items():
            if name not in places:
                raise wrong(f"the network has no {kind} {name!r}", f"it has: {', '.join(places) or 'none'}")
            found = array(np.array(getattr(value, "data", value) if isinstance(value, NDArray) else value))
            shape, dtype = _shape_and_dtype(variables[places[name]])
            if (found.shape, str(found.dtype)) != (shape, dtype):
                raise wrong(f"{kind} {name} is {dtype} of shape {shape}, given {found.dtype} of {found.shape}")
            held[places[name]] = found

    def export_params(self) -> dict[str, NDArray]:
        """Parameters by name, as they are now."""
        return {v.name_hint: p for v, p in zip(self._param_vars, self._ready(self._params, self._param_vars))}

    def export_states(self) -> dict[str, NDArray]:
        """States by name, as they are now."""
        return {v.name_hint: s for v, s in zip(self._state_vars, self._ready(self._states, self._state_vars))}

    def _ready(self, held: list[Any], variables: list[Any]) -> list[Any]:
        for var, value in zip(variables, held):
            if value is None:
                raise wrong(f"{var.name_hint} has no value yet", "load_params, load_states and init functions do that")
        return held

    # -------------------------------------------------------------------------------------------- running

    def predict(self, *input_instances: Any) -> Any:
        """The network's outputs for the inputs, without states."""
        result = self.vm[self.BACKBONE_FUNC](*self._arguments(input_instances))
        if not self._state_vars:
            return result
        outputs = result[: len(result) - len(self._state_vars)]
        return outputs[0] if len(outputs) == 1 else outputs

    def update(self, input_instances: Any, targets: Any) -> NDArray:
        """One step of training. Returns the loss before the step."""
        given = [*self._arguments(_listed(input_instances)), *_listed(targets)]
        result, gradients = self.vm[self.ADJOINT_FUNC](*given)
        loss = result
        if self._state_vars:
            loss, *states = result
            self._states = list(states)
        params, self._optim_states = self.vm[self.OPTIMIZER_FUNC](tuple(self._params), gradients, self._optim_states)
        self._params = list(params)
        assert isinstance(loss, NDArray)
        return loss

    def profile_adjoint(self, input_instances: Any, targets: Any) -> Any:
        """How long the steps of the adjoint function take."""
        given = [*self._arguments(_listed(input_instances)), *_listed(targets)]
        return self.vm.profile(self.ADJOINT_FUNC, *given)

    def _arguments(self, inputs: Any) -> list[Any]:
        if len(inputs) != self.num_inputs:
            raise wrong(f"the network takes {self.num_inputs} inputs, given {len(inputs)}")
        params, states = self._ready(self._params, self._param_vars), self._ready(self._states, self._state_vars)
        return [*[from_host(i) for i in inputs], *params, *states]


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _shape_and_dtype(var: Any) -> tuple[tuple[int, ...], str]:
    info = var.struct_info
    assert isinstance(info, TensorStructInfo)
    return tuple(int(d.value) for d in info.shape.values), str(info.dtype)
