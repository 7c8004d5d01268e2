"""Read PyTorch programs from their sources, and bring them into a plain form.

`archive` reads files, `tracing` exports `fx.GraphModule`s and TorchScript, which `torchscript` runs node by node (the
`script_*` files are its parts: functions, loops, branches, quantised and nested values). `program` removes side effects
from exported programs, and takes apart what has no converter: `decompositions` lists how. They are by subject in the
other files, in terms of PyTorch: `whole_layers`, `whole_operators`, `gradients`, `functions` and `series` of
mathematics, regions of images, windows of signals, `draws` of random numbers, `quantized` models, functions of the
user's.
"""
