"""Models written as modules (`tvm.relax.frontend.nn`): tensors, parameters, layers, and their export to Relax.

`module` Module, ModuleList, parameters by name; `tensor` the values in `forward`; `layers`, `diffusion` and `llm/`
layers; `op` the functional operators, with `kernel_ops`, `image_ops`, `ordering_ops`, `sampling_ops`; `effects` state;
`extern` external functions; `subroutine` modules as private functions; `mutator` changes models in place; `spec`
specifies inputs; `export` turns methods into functions of an IRModule.
"""
