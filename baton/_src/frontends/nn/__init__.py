"""Models written as modules (`tvm.relax.frontend.nn`): tensors, parameters, layers, and their export to Relax.

tensor.py   what flows through `forward`    module.py  Module, ModuleList, parameters by name
layers.py   Linear, Embedding, norms, ...   op.py      the functional operators
spec.py     what inputs look like           export.py  methods become functions of an IRModule
"""
