"""The network of a seed."""

from __future__ import annotations

from baton._src.ir.module import IRModule
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.relax.nodes import Expr, Tuple
from tests.relax.networks.images import IMAGES, image
from tests.relax.networks.network import Net, Network
from tests.relax.networks.rows import ROWS, rows


def random_results(seed: int, longest: int = 6) -> Network:
    """A network with several results: layers' values that others read as well, inputs, the same ones twice."""
    net = Net(seed)
    start, layers = net.draw.choice([(image, IMAGES), (rows, ROWS)])
    with net.builder.function("main"):
        with net.builder.dataflow():
            values: list[Expr] = [start(net)]
            for _ in range(net.draw.randint(1, longest)):
                values.append(net.layer(net.draw.choice([values[-1], values[-1], *values]), layers))
            outputs = [net.builder.emit_output(v) for v in net.draw.sample(values[1:], min(len(values) - 1, 3))]
            found: list[Expr] = [*outputs, *net.draw.choices([*outputs, *net.params], k=net.draw.randint(0, 3))]
            net.draw.shuffle(found)
        net.builder.emit_func_output(Tuple(found), net.params)
    module: IRModule = DeadCodeElimination()(net.builder.get())
    return Network(module, net.dtype, net.choices, net.spans)


def random_network(seed: int, longest: int = 5) -> Network:
    """Up to `longest` layers over images or over rows of features."""
    net = Net(seed)
    start, layers = net.draw.choice([(image, IMAGES), (rows, ROWS)])
    with net.builder.function("main"):
        with net.builder.dataflow():
            x = start(net)
            for _ in range(net.draw.randint(1, longest)):
                x = net.layer(x, layers)
            result = net.builder.emit_output(x)
        net.builder.emit_func_output(result, net.params)
    module: IRModule = DeadCodeElimination()(net.builder.get())
    return Network(module, net.dtype, net.choices, net.spans)
