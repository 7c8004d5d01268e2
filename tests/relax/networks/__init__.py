"""Random networks in Relax: what the rules of kernel_schedules are for, in shapes that they were not tried with.

    network = random_network(seed)                      # images or rows of features, of known and of open sizes
    Interpreter(network.module)["main"](*network.inputs(network.sizes))

`network` has the program and what emits it; `images`, `volumes`, `rows`, `recurrences` and `in_bytes` are the layers.
"""
