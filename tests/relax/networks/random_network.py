"""The network of a seed."""

from __future__ import annotations

from baton._src.ir.module import IRModule
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from tests.relax.networks.images import IMAGES, image
from tests.relax.networks.network import Net, Network
from tests.relax.networks.rows import ROWS, rows


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
